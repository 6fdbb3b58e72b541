"""Regression reports, news of them, and who gets these."""
