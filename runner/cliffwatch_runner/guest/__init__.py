"""Starts a guest, runs programs in it, watches it, and collects its files."""
