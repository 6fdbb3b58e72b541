"""Bisection: narrows a confirmed change of several commits to the commits that made it."""
