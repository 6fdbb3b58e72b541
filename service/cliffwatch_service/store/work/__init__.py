"""What is asked of hosts: requests, jobs, leases."""
