"""Builds programs from the kernel's BPF selftests: bench, and bench with empty loops."""
