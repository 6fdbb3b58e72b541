"""Patch series from mailboxes: finds their patches and applies them to a revision."""
