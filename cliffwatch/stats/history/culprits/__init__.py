"""Finds the commit that made a change in a history: the search only, without git and without measuring."""
