"""Builds, boots and measures kernels on this host."""
