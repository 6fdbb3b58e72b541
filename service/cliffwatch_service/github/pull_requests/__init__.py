"""Pull requests: reads their current state, requests measurements and carries out commands."""
