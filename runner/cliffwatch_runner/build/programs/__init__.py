"""Builds the programs that suites bring, from their folders, and explains failures."""
