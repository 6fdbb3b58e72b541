"""The GitHub App: what webhooks say is looked up at GitHub, measured, and told in the pull request."""
