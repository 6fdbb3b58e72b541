"""Patch series from mailboxes: which mails are its patches, and putting them on a revision."""
