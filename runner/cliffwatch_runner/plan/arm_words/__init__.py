"""Arm words that need more than parsing: Go modules and parameter sweeps."""
