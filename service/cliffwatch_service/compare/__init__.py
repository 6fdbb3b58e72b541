"""Comparisons of what is stored: made, looked up by name, and written."""
