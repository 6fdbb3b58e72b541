"""Writes a comparison in different formats."""
