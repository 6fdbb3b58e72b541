"""One machine looks for the commit that made a change."""
