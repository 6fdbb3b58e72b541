"""SQL, and nothing decided: every function takes a connection and runs in its caller's transaction."""
