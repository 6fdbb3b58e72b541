"""What GitHub Actions calls: every step of a workflow that decides anything, each of which runs without
GitHub too.
"""
