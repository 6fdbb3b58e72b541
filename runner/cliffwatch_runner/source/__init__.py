"""Resolves tree names to revisions, whose objects are kept in one bare mirror."""
