"""Kernels built elsewhere: finds their files in a package or folder and extracts them."""
