"""Turns user input into the text that a program printed: opens, unpacks, decodes, and strips
mail and logs.
"""
