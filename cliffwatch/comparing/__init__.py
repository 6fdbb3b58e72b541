"""Compares base with head: which rows changed, by how much, how surely, and which change was detectable."""
