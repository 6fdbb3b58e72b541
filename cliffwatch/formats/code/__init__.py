"""Documents about code: which code was executed, how often, and how it differs."""
