"""Outputs in JSON, a module for each form, and outputs of other tools that are refused by name."""
