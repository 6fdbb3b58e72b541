"""What the service's API says: reports, changes, and what was measured of a commit."""

import time
from typing import Any

import httpx2

from planted_watching.judging import Named, Planted, named_by

_STANDING = ("new", "acknowledged", "expected", "fixed")
"""All but noise. A report is closed as fixed once a later commit makes its cases as fast as before."""


def read_named(http: httpx2.Client) -> list[Named]:
    reports = all_items(http, "/api/v1/reports", state=list(_STANDING))
    standing = [each for each in reports if each["merged_into"] is None]
    return named_by(standing, all_items(http, "/api/v1/changes", state="confirmed"))


def largest_change(http: httpx2.Client, planted: Planted) -> str:
    """The largest measured change of primary metrics, and its case."""
    address = f"/api/v1/comparisons/{planted.parent}...{planted.commit}"
    answer = http.get(address)
    while answer.status_code == 503:  # a large comparison is made in the background
        time.sleep(float(answer.headers.get("Retry-After", 10)))
        answer = http.get(address)
    if answer.status_code == 404:
        return "not measured"
    rows = [row for row in answer.raise_for_status().json()["comparisons"] if row["change"] is not None]
    row = max((row for row in rows if row["primary"]), key=lambda row: abs(row["change"]), default=None)
    if row is None:
        return "no value"
    params = ",".join(f"{name}={value}" for name, value in row["params"].items())
    metric = "" if row["metric"].startswith("insns") else row["metric"]
    return " ".join(f"{row['change']:+.2%} {row['benchmark']} {params} {metric}".split())


def all_items(http: httpx2.Client, path: str, **given: Any) -> list[dict[str, Any]]:
    """Every item of a list, page by page."""
    items: list[dict[str, Any]] = []
    cursor = None
    while True:
        more = {"cursor": cursor} if cursor else {}
        page = http.get(path, params={"limit": 100, **given, **more}).raise_for_status().json()
        items += page["items"]
        cursor = page["next"]
        if cursor is None:
            return items
