"""URL paths of a comparison's rows, below /compare/BASE...HEAD/cases/."""

import re
from urllib.parse import quote

from cliffwatch.formats.comparison import ComparisonRow
from cliffwatch.reports.several.across import Across

_PLAIN = re.compile(r"[A-Za-z0-9_.~=/-]+").fullmatch


def case_path(row: Across | ComparisonRow) -> str:
    """Returns the URL path of a case: suite/benchmark/parameter=value/…"""
    parts = [row.suite, row.benchmark, *[f"{name}={value}" for name, value in row.params.items()]]
    path = "/".join(parts)
    if _PLAIN(path) and path.count("/") == len(parts) - 1:
        return path
    return "/".join([quote(part, safe="=") for part in parts])


def row_path(row: Across | ComparisonRow) -> str:
    """Returns the URL path of a row: its case, and the metric as a query."""
    return f"{case_path(row)}?metric={row.metric if _PLAIN(row.metric) else quote(row.metric, safe='')}"
