"""Work for hosts: requests, jobs, leases."""
