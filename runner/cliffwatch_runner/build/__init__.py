"""Kernels and `bench` from revisions: configured, built in a worktree that moves on, and kept in a cache."""
