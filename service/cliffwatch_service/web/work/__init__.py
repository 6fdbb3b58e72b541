"""The pages of requests, jobs, runs and hosts."""
