"""Comparisons of what is stored: made, found by name, and written."""
