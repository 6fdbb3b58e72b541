"""Steps that GitHub Actions workflows call. Each step also runs without GitHub."""
