"""The host: its facts and programs, and how it is tuned and locked for a measurement."""
