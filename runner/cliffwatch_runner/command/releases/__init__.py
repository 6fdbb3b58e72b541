"""Measures the suites on several releases, one result directory per suite, and resumes at any time."""
