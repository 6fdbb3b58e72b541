"""Queries as Grafana sends them: its variables, then the macros of its PostgreSQL data source.

After their documentation and the data source's own tests:
https://grafana.com/docs/grafana/latest/datasources/postgres/query-editor/
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

Value = str | Sequence[str]

_VARIABLE = re.compile(r"\$(\w+)|\[\[(\w+)\]\]|\$\{(\w+)\}")
_MACRO = re.compile(r"\$([_a-zA-Z0-9]+)\(([^)]*)\)")
_SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


class UnknownMacroError(ValueError):
    """A macro that the data source does not have, or one without its arguments."""


@dataclass(frozen=True, slots=True)
class TimeRange:
    """What the dashboard's time picker says."""

    begin: datetime
    end: datetime


def interpolated(text: str, values: Mapping[str, Value]) -> str:
    """A query with the values of variables. One that offers several values is quoted; another one's quotes
    are doubled, and the query puts them around it. What is no variable stays.
    """

    def value_of(match: re.Match[str]) -> str:
        name = match[1] or match[2] or match[3]
        value = values.get(name)
        if value is None:
            return match[0]
        if isinstance(value, str):
            return value.replace("'", "''")
        return ",".join("'" + each.replace("'", "''") + "'" for each in value)

    return _VARIABLE.sub(value_of, text)


def expanded(query: str, span: TimeRange, interval: str = "1h") -> str:
    """A query with the data source's macros expanded. Raises UnknownMacroError."""
    seconds = seconds_of(interval)
    begin, end = int(span.begin.timestamp()), int(span.end.timestamp())
    for name, value in (
        ("$__interval_ms", str(int(seconds * 1000))),
        ("$__interval", interval),
        ("$__unixEpochFrom()", str(begin)),
        ("$__unixEpochTo()", str(end)),
    ):
        query = query.replace(name, value)

    def evaluated(match: re.Match[str]) -> str:
        name = match[1]
        if name == "__timeGroup" and query[match.end() : match.end() + 1] == ",":
            name = "__timeGroupAlias"  # as it was before there was an alias of its own
        return _evaluated(name, [argument.strip(" ") for argument in match[2].split(",")], span)

    return _MACRO.sub(evaluated, query)


def _evaluated(name: str, arguments: Sequence[str], span: TimeRange) -> str:
    first = arguments[0]
    begin, end = f"'{_written(span.begin)}'", f"'{_written(span.end)}'"
    epoch = (int(span.begin.timestamp()), int(span.end.timestamp()))
    nano = (epoch[0] * 10**9, epoch[1] * 10**9)
    simple = {
        "__time": f'{first} AS "time"',
        "__timeEpoch": f'extract(epoch from {first}) as "time"',
        "__timeFilter": f"{first} BETWEEN {begin} AND {end}",
        "__timeFrom": begin,
        "__timeTo": end,
        "__unixEpochFilter": f"{first} >= {epoch[0]} AND {first} <= {epoch[1]}",
        "__unixEpochNanoFilter": f"{first} >= {nano[0]} AND {first} <= {nano[1]}",
        "__unixEpochNanoFrom": str(nano[0]),
        "__unixEpochNanoTo": str(nano[1]),
    }
    if name in simple:
        return simple[name]
    grouped, aliased = name.removesuffix("Alias"), name.endswith("Alias")
    if grouped not in ("__timeGroup", "__unixEpochGroup") or len(arguments) < 2:
        raise UnknownMacroError(f"${name}({', '.join(arguments)})")
    step = f"{seconds_of(arguments[1].strip(chr(39))):g}"
    of = f"extract(epoch from {first})" if grouped == "__timeGroup" else f"({first})"
    return f"floor({of}/{step})*{step}" + (' AS "time"' if aliased else "")


def _written(moment: datetime) -> str:
    """As RFC 3339 with as many digits as there are."""
    text = moment.astimezone(UTC).isoformat(timespec="microseconds").removesuffix("+00:00")
    return (text.rstrip("0").rstrip(".")) + "Z"


def seconds_of(interval: str) -> float:
    match = re.fullmatch(r"(\d+)(ms|s|m|h|d|w)", interval)
    if match is None:
        raise UnknownMacroError(f"no interval: {interval}")
    return int(match[1]) * _SECONDS[match[2]]
