"""Turns requests into jobs and leases the jobs to hosts."""
