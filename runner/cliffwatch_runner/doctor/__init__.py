"""Examines whether this host is fit for runs, and says how to fix what is not."""
