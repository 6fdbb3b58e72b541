"""Chooses the suites of a run: those that a change affects, and the user's own."""
