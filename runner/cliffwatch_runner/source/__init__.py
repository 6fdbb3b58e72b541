"""From what a person names as a tree to revisions whose objects lie in one bare mirror."""
