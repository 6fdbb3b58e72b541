"""The GitHub App: verifies webhooks' claims at GitHub, requests measurements and reports in pull requests."""
