"""URL paths of a comparison's rows on a service, below /compare/BASE...HEAD/cases/."""

import re
from collections.abc import Mapping
from urllib.parse import quote

_PLAIN = re.compile(r"[A-Za-z0-9_.~=/-]+").fullmatch


def case_path(suite: str, benchmark: str, params: Mapping[str, str]) -> str:
    """Returns the URL path of a case: suite/benchmark/parameter=value/…"""
    parts = [suite, benchmark, *[f"{name}={value}" for name, value in params.items()]]
    path = "/".join(parts)
    if _PLAIN(path) and path.count("/") == len(parts) - 1:
        return path
    return "/".join([quote(part, safe="=") for part in parts])


def row_path(suite: str, benchmark: str, params: Mapping[str, str], metric: str) -> str:
    """Returns the URL path of a row: its case, and the metric as a query."""
    named = metric if _PLAIN(metric) else quote(metric, safe="")
    return f"{case_path(suite, benchmark, params)}?metric={named}"
