"""The wall between a tree's code and this host, and the only way to what lies behind it."""
