"""Power: which change a number of boots detects, and how many boots a change needs."""
