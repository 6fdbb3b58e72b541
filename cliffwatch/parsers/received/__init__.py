"""From what a person names to the text that a program printed: opened once, unpacked, decoded, and out of
mail and logs.
"""
