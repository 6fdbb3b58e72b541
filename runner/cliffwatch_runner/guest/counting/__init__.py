"""Counts the instructions that a guest executes, by function, with a plugin of its emulator."""
