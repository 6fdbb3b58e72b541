"""Benchmarks over their parameters: curves, breakpoints, their description, and which curves are shown."""
