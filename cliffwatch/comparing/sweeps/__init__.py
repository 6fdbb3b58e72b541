"""Benchmarks over their parameters: curves and their breakpoints, what is said of them, and which of them are
shown.
"""
