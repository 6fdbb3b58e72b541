"""Webhooks: verifies their signatures and derives what to look at."""
