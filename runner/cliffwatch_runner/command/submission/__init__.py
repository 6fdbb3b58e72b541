"""`cliffwatch submit`: asks a service to measure, and prints its comparison."""
