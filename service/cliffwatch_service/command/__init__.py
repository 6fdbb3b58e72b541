"""The service's subcommands of `cliffwatch`."""
