"""The pages of a comparison."""
