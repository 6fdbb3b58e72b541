"""Properties of noise: its components, the groups it falls into, and its drift."""
