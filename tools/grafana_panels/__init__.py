"""Draws Grafana's dashboards by Grafana's own components (docs/dashboards.md)."""
