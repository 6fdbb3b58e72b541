"""Endpoints for regression reports, their news and subscriptions."""
