"""Finds cases with an unchanged build: what cases execute, what a change affects, what to leave out."""
