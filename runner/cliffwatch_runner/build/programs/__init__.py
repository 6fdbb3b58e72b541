"""Programs of suites that bring their own: built from the suite's folder, and what went wrong with that."""
