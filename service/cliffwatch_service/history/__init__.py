"""Branches over time: followed, searched for steps, and triaged."""
