"""What noise looks like: where it comes from, in which groups it falls, and how it drifts."""
