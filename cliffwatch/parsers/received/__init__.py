"""Turns user input into the text of a program: opens, unpacks and decodes it, and strips mail and logs."""
