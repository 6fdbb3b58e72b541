"""From what a person names to the text that a parser reads: opened once, unpacked, decoded."""
