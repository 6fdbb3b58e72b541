"""One day of a fleet against a service of its own, in minutes."""
