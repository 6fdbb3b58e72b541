"""Installs a bench host's worker as a systemd service, and removes it."""
