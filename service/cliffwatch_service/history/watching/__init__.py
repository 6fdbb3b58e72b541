"""Watching a branch: steps, events of hosts and trends in its history, and the fresh comparisons that judge
them.
"""
