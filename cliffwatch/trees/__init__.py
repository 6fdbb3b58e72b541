"""Trees that people and services name: how their addresses are read, and how git is called."""
