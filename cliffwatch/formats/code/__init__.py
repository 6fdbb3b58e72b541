"""Documents about code: what of it was executed, and how often."""
