"""A database to look around in: real runs kept as fixtures, published results, and made-up history, marked as such."""
