"""Relates two revisions: which ones are meant, their shared history, and the differences between them."""
