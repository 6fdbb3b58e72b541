"""Is this host fit for runs, item by item, and how to mend what is not."""
