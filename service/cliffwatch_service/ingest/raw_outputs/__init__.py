"""Raw outputs of boots: archives as hosts send them, and how they are stored."""
