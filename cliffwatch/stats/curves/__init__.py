"""Curves over one parameter in log-log space: their models, the choice of a model, and breakpoints."""
