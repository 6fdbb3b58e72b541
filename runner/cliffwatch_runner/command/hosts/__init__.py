"""Subcommands of `cliffwatch host` about a bench host's measurements: quarantine, calibration, collection."""
