"""The isolation of a tree's code from this host, and the only way to what that code writes."""
