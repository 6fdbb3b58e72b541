"""The interval of a panel's query: `$__interval`, as Grafana rounds it."""

from collections.abc import Mapping
from typing import Any

from grafana_sql import TimeRange, seconds_of

_BELOW = {
    12.5: "10s",
    17.5: "15s",
    25: "20s",
    45: "30s",
    90: "1m",
    210: "2m",
    450: "5m",
    750: "10m",
    1050: "15m",
    1500: "20m",
    2700: "30m",
    5400: "1h",
    9000: "2h",
    16200: "3h",
    32400: "6h",
    86400: "12h",
    604800: "1d",
}
"""Seconds for each pixel below which an interval is taken; `roundInterval` of @grafana/data."""


def interval_of(panel: Mapping[str, Any], span: TimeRange, width: int) -> str:
    """At most a value for each pixel of the panel's width, and not below its own least interval."""
    seconds = (span.end - span.begin).total_seconds() / width
    rounded = next((name for below, name in _BELOW.items() if seconds < below), "7d")
    return max(rounded, panel.get("interval", "10s"), key=seconds_of)
