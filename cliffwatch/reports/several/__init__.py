"""Reports on more than two sides: several arms or several targets."""
