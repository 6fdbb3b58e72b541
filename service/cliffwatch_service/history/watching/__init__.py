"""Watches branches: finds steps, host events and trends in their histories, and confirms steps afresh."""
