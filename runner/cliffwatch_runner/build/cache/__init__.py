"""The build cache: its entries, who uses them, and which of them are removed."""
