"""Builds kernels and `bench` from revisions, in worktrees that are reused, and keeps them in a cache."""
