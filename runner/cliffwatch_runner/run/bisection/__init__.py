"""Finds the commit that made a change, on one machine."""
