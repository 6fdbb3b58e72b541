"""Makes comparisons of stored runs, finds them by name and exports them."""
