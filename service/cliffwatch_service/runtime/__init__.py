"""The serving process: its settings, clock, logs and memory, and where it may send news."""
