"""GitHub Actions: jobs prove their identity and get an upload token for 15 minutes."""
