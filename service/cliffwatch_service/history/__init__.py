"""Branches over time: following them, finding their steps, and triaging regression reports."""
