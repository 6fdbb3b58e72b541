"""Facts about an arm besides the measurements of its boots."""
