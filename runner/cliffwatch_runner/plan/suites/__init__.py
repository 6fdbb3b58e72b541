"""Which suites a run measures: those of a change, and those of the user."""
