"""Turns a request into a plan of builds and boots. All checks come before the first build."""
