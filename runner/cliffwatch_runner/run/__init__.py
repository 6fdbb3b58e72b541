"""A run from its plan to its results: build, boot, measure, confirm."""
