"""One comparison, written for different readers."""
