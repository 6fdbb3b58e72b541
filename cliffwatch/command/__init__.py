"""The `cliffwatch` command.

Distributions add subcommands through the entry-point group `cliffwatch.commands`.
"""
