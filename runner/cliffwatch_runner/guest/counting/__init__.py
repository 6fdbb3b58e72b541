"""Counts the instructions that a guest executes, function by function, in a plugin of its emulator."""
