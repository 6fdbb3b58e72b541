"""The `cliffwatch` command. Each distribution adds its subcommands through the entry-point group
`cliffwatch.commands`.
"""
