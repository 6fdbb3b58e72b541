"""A row of the compare page: its name, its address, and a cell for every target."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol
from urllib.parse import quote

from cliffwatch.counting import counted
from cliffwatch.reports import figures
from cliffwatch.reports.across import TOLD, Across, Target, whereabouts
from cliffwatch_service.web.drawing import Scale, bar
from cliffwatch_service.web.wording import MARKS, tone

CHANGED = frozenset((*TOLD, "disagree"))


class ColumnShape(Protocol):
    """What a row must know of a column: its target, and the floor below which no difference means anything."""

    @property
    def target(self) -> Target: ...
    @property
    def floor(self) -> float: ...


class Cell(NamedTuple):
    """A row on one target (its name and place) as it is shown: `kind` for the style, `text` and `small` to read, `path` to
    draw.
    """

    target: str
    place: int
    kind: str
    text: str
    small: str
    path: str


class Line(NamedTuple):
    """A row of the table."""

    name: str
    params: str
    metric: str
    href: str
    where: str
    cells: tuple[Cell, ...]


_PLAIN = re.compile(r"[A-Za-z0-9_.~=/-]+").fullmatch


def case_path(row: Across) -> str:
    """The part of an address that names a case: suite/benchmark/parameter=value/…"""
    parts = [row.suite, row.benchmark, *[f"{name}={value}" for name, value in row.params.items()]]
    path = "/".join(parts)
    if _PLAIN(path) and path.count("/") == len(parts) - 1:
        return path
    return "/".join([quote(part, safe="=") for part in parts])


def line_of(row: Across, columns: Sequence[ColumnShape], scale: Scale) -> Line:
    return Line(
        name=row.benchmark,
        params=" ".join(f"{name}={value}" for name, value in row.params.items()),
        metric=row.metric,
        href=f"{case_path(row)}?metric={row.metric if _PLAIN(row.metric) else quote(row.metric, safe='')}",
        where=whereabouts(row, [column.target for column in columns]) if row.verdict in CHANGED else "",
        cells=tuple(
            [
                Cell(column.target.name, place, *_cell(cell, column.floor, scale))
                for place, (column, cell) in enumerate(zip(columns, row.cells, strict=True))
            ]
        ),
    )


def _cell(row: Mapping[str, Any] | None, floor: float, scale: Scale) -> tuple[str, str, str, str]:
    """Kind, text, small text and path; no colour for what is told but lies within what base differed from itself by."""
    if row is None:
        return "none", "not run", "", ""
    verdict, change = row["verdict"], row["change"]
    n = row["n_base"] if row["n_base"] == row["n_head"] else f"{row['n_base']}/{row['n_head']}"
    path = bar(row, scale)
    if verdict in TOLD:
        within = abs(change) <= floor
        kind = "within" if within else tone(verdict)
        small = f"{_interval(row)}, n {n}{', within the noise floor' if within else ''}"
        return kind, f"{MARKS[verdict]} {figures.percent(change)}", small, path
    if verdict == "unchanged":
        if change is not None and _real(row):
            return "same", figures.percent(change), f"{_interval(row)}, sees {_plain(row['mde'])}, n {n}", path
        return "same", "~", f"sees {_plain(row['mde'])}, n {n}", path
    if verdict == "inconclusive":
        needs = f"needs {counted(row['needs'], 'boot')}" if row["needs"] else "undecided"
        why = f": {row['reason'][:90]}" if row["reason"] else ""
        return "open", f"? {needs}", f"{_interval(row)}, n {n}{why}", path
    return "trouble", f"{MARKS[verdict]} {verdict}", row["reason"][:120], path


def _real(row: Mapping[str, Any]) -> bool:
    return row["ci_low"] is not None and row["ci_high"] is not None and (row["ci_low"] > 0 or row["ci_high"] < 0)


def _interval(row: Mapping[str, Any]) -> str:
    low, high = row["ci_low"], row["ci_high"]
    if low is None or high is None:
        return "no interval"
    return f"{100 * low:+.2f} .. {100 * high:+.2f} %"


def _plain(fraction: float | None) -> str:
    return "–" if fraction is None else f"{100 * fraction:.2f} %"
