"""A host's side of the service: takes jobs, does one at a time, and sends what it measured."""
