"""Isolates a tree's code from this host, and reads the files that this code writes."""
