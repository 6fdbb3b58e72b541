"""`cliffwatch submit` and `cliffwatch upload`: what is sent to a service."""
