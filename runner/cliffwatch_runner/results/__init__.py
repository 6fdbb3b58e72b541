"""The result directory (docs/formats.md): chooses it, and writes its files."""
