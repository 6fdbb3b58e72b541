"""Kernels that somebody else built: what is found in a package or folder, and what is taken out of it."""
