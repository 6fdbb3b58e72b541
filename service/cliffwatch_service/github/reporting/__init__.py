"""Reports in a pull request: derives comments and a check run from the state of its jobs."""
