"""Subtracts the empty loop of a benchmark: its own, measured in the same boots, or one measured elsewhere."""
