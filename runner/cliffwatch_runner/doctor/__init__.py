"""Is this host fit for runs, item by item, and how to fix what is not."""
