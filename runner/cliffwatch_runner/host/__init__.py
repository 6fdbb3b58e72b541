"""The machine itself: what it is, what programs it has, and how it is tuned and locked for a measurement."""
