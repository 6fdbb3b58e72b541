"""From a request to a job that a host holds a lease of."""
