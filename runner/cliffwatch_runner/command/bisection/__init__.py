"""`cliffwatch bisect` and `cliffwatch bisect-run`."""
