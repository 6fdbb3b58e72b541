"""HTTP: turns requests into calls of use cases, and what those answer into responses."""
