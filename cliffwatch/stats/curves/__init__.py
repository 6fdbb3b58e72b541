"""Curves of one parameter in log-log space: which courses they could take, which one the points bear out,
where it breaks.
"""
