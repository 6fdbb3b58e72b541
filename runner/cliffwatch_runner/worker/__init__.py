"""The worker: takes jobs from the service, one at a time, and sends the results."""
