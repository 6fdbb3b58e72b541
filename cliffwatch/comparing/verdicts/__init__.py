"""Verdicts on rows, by the kind of their values."""
