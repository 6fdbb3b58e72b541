"""Checks uploads of hosts against their format, plan and lease, and stores each once."""
