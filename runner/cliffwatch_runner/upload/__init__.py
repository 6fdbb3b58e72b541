"""Sends results to a service."""
