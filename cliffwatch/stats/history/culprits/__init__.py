"""Which commit of a history made a change: the search alone, without git and without measuring."""
