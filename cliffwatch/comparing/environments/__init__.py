"""The environments of the sides: how they affect metric traits, and which differences are allowed."""
