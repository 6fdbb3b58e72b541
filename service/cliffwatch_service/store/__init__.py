"""SQL without decisions. Every function takes a connection and runs in its caller's transaction."""
