"""Who may do what to whose, and how much of it."""
