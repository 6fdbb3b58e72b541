"""Background tasks, in a process of their own."""
