"""Reports of more than two sides: of several arms, and of several platforms."""
