"""Where a change comes from: instructions per operation of each function, base against head."""
