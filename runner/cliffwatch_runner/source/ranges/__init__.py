"""What lies between two revisions: which ones are meant, their history, and what differs."""
