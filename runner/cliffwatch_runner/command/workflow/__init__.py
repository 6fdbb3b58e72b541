"""`cliffwatch ci`: the steps of a GitHub workflow."""
