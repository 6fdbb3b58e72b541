"""From a confirmed change of several commits to the commits that made it: what is compared next, and what
came of it.
"""
