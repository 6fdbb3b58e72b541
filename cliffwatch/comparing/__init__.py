"""Base against head: what changed, by how much, how sure that is, and which change was detectable."""
