"""Subcommands of the runner."""
