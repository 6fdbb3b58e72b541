"""Exports a run to the formats of benchstat, Bencher and KCIDB, and to Markdown tables."""
