"""Demonstration data: real runs from fixtures, published results and made-up history, each marked as such."""
