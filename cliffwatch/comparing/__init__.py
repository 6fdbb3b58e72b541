"""Base against head: what changed, by how much, how sure that is, and what could not have been seen."""
