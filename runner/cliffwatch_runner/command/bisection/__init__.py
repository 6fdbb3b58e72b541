"""`cliffwatch bisect-run`, and `cliffwatch bisect` around it."""
