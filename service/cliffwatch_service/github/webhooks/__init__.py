"""What GitHub sends: whether it did, and where to look then."""
