"""GitHub Actions: jobs that show whose they are, and get a token for a quarter of an hour."""
