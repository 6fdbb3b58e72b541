"""The result directory (docs/formats.md): which one it is, what its files say, and how they are written."""
