"""The web pages. Rendered on the server; they work without JavaScript."""
