"""Grafana's dashboards, a module for each; `parts` holds what they are made of."""
