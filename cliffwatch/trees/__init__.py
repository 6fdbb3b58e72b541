"""Trees that people and services name: parsing of their addresses, and command lines of git."""
