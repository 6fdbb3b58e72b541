"""A run for other programs: the formats that benchstat, Bencher and KCIDB read."""
