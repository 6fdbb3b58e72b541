"""The report on several releases: what BPF operations cost in each, read from result directories."""
