"""The result directory (docs/formats.md): which one it is, what its files hold, and how they are written."""
