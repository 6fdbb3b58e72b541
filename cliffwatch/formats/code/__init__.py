"""What code was executed, and what code there is."""
