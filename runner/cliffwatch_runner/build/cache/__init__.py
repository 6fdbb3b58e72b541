"""What builds leave for later: entries, who uses them, and which of them go."""
