"""What the compare page says of the stored comparisons of two revisions: columns, rows, sweeps, sentences."""

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from psycopg import Connection

from cliffwatch.counting import counted
from cliffwatch.reports.across import (
    TOLD,
    TROUBLED,
    Across,
    Target,
    across,
    facets,
    sentence_across,
    targets_named,
    whereabouts,
)
from cliffwatch.reports.context import SIGHT
from cliffwatch.reports.json_reading import terms_of_row
from cliffwatch.stats.cliffs import FEWEST
from cliffwatch_service.compare.pairing import Answer
from cliffwatch_service.ingest.boot_document import unpacked
from cliffwatch_service.store import comparisons
from cliffwatch_service.web.compare.curves import Curve, Point, curve
from cliffwatch_service.web.compare.lines import CHANGED, Line, line_of, row_path
from cliffwatch_service.web.layout.drawing import Scale, band, band_edges, common_scale
from cliffwatch_service.web.layout.intervals import interval_words, levels_of
from cliffwatch_service.web.layout.wording import counted_order, parameters

SORTS = ("size", "certainty", "name")


@dataclass(frozen=True, slots=True)
class Filters:
    """What of a comparison is asked for; every field is of the address."""

    text: str = ""
    suite: str = ""
    verdict: str = ""
    where: str = ""
    sort: str = "size"
    metrics: str = ""
    platform: str = ""
    mode: str = ""

    @property
    def choosing(self) -> bool:
        """Whether any row is left out."""
        return bool(self.text or self.suite or self.verdict or self.where)

    def as_query(self) -> dict[str, str]:
        given = {name: getattr(self, name) for name in self.__slots__}
        return {name: value for name, value in given.items() if value and (name, value) != ("sort", "size")}


@dataclass(frozen=True, slots=True)
class Column:
    """A target and what is to be known of its numbers: the thresholds of its rows and the levels of their intervals. On the
    bars' scale: what lies below each threshold, and what base differed from itself by.
    """

    target: Target
    answer: Answer
    notable: float
    thresholds: tuple[float, ...]
    bands: tuple[tuple[float, float], ...]
    levels: tuple[float | None, ...]
    control_edges: tuple[float, float] | None
    control: Mapping[str, Any] | None
    median_detectable: float | None
    worst_detectable: float | None
    boots: str

    @property
    def mixed(self) -> bool:
        return len(self.levels) > 1

    @property
    def intervals(self) -> str:
        """What the bounds of its rows are."""
        return " or ".join(interval_words(level) for level in self.levels)


@dataclass(frozen=True, slots=True)
class Section:
    """Lines of one importance, in parts that a browser draws only when they are seen."""

    name: str
    title: str
    count: int
    parts: tuple[tuple[Line, ...], ...]


@dataclass(frozen=True, slots=True)
class SweepShown:
    """A benchmark over one parameter, with a curve a target; `lines` are its rows that are shown nowhere else."""

    benchmark: str
    parameter: str
    metric: str
    unit: str
    changes: str
    curves: tuple[tuple[Target, str, Curve], ...]
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Compared:
    """The page."""

    sentence: str
    facets: tuple[str, ...]
    sights: tuple[str, ...]
    columns: tuple[Column, ...]
    scale: Scale
    sections: tuple[Section, ...]
    sweeps: tuple[SweepShown, ...]
    shown: int
    total: int
    wheres: tuple[str, ...]
    suites: tuple[str, ...]
    platforms: tuple[str, ...]
    modes: tuple[str, ...]


PART = 50
"""Lines that are drawn, or left undrawn, together."""


def rows_of(connection: Connection[Any], answers: Sequence[Answer]) -> list[list[dict[str, Any]]]:
    """The stored rows of every answer."""
    return [orjson.loads(unpacked(comparisons.rows_of(connection, each.comparison["id"]))) for each in answers]


def targets_of(answers: Sequence[Answer]) -> tuple[Target, ...]:
    return targets_named([(each.target.platform, each.target.mode) for each in answers])


def compared(answers: Sequence[Answer], rows: Sequence[Sequence[Mapping[str, Any]]], filters: Filters) -> Compared:
    """The page of these answers and their rows."""
    targets = targets_of(answers)
    every = across(rows, all_metrics=filters.metrics == "all")
    chosen = [row for row in every if _wanted(row, filters, targets)] if filters.choosing else every
    shown = _sorted(chosen, filters.sort)
    thresholds = [_thresholds(each, of_target) for each, of_target in zip(answers, rows, strict=True)]
    scale = common_scale(
        [cell for row in shown for cell in row.cells if cell], [each for of_column in thresholds for each in of_column]
    )
    columns = tuple(_column(*each, scale) for each in zip(targets, answers, rows, thresholds, strict=True))
    sweeps, folded = _sweeps(every, shown, columns, scale)
    return Compared(
        sentence=sentence_across(every, targets),
        facets=tuple(facets(every)),
        sights=tuple(dict.fromkeys(SIGHT[target.mode] for target in targets)),  # type: ignore[index]
        columns=columns,
        scale=scale,
        sections=tuple(_sections([row for row in shown if id(row) not in folded], columns, scale)),
        sweeps=sweeps,
        shown=len(shown),
        total=len(every),
        wheres=tuple(sorted({whereabouts(row, targets) for row in every if row.verdict in CHANGED} - {""})),
        suites=tuple(dict.fromkeys(row.suite for row in every)),
        platforms=tuple(dict.fromkeys(target.platform for target in targets)),
        modes=tuple(dict.fromkeys(target.mode for target in targets)),
    )


def _thresholds(answer: Answer, rows: Sequence[Mapping[str, Any]]) -> tuple[float, ...]:
    """From which sizes on changes of these rows are reported, the smallest first."""
    notable = float(answer.comparison["summary"]["notable"])
    return tuple(sorted({terms_of_row(row, notable)[0] for row in rows})) or (notable,)


def _column(
    target: Target,
    answer: Answer,
    rows: Sequence[Mapping[str, Any]],
    thresholds: tuple[float, ...],
    scale: Scale,
) -> Column:
    summary = answer.comparison["summary"]
    detectable = [
        row["mde"] for row in rows if row["primary"] and row["verdict"] == "unchanged" and row["mde"] is not None
    ]
    base, head = summary["base"]["boots"], summary["head"]["boots"]
    control = summary["control"]
    return Column(
        target=target,
        answer=answer,
        notable=summary["notable"],
        thresholds=thresholds,
        bands=tuple(band(each, scale) for each in thresholds),
        levels=levels_of(rows, summary["notable"]),
        control=control,
        median_detectable=statistics.median(detectable) if detectable else None,
        worst_detectable=max(detectable, default=None),
        boots=f"{counted(base, 'boot')} per kernel" if base == head else f"{base} and {counted(head, 'boot')}",
        control_edges=None if control is None else band_edges(control["largest"], scale),
    )


def _wanted(row: Across, filters: Filters, targets: Sequence[Target]) -> bool:
    """Whether a row passes the filters."""
    if filters.suite and row.suite != filters.suite:
        return False
    if filters.verdict and not _is(row, filters.verdict):
        return False
    if filters.where and whereabouts(row, targets) != filters.where:
        return False
    if not filters.text:
        return True
    name = f"{row.suite}/{row.benchmark}/{'/'.join(f'{key}={value}' for key, value in row.params.items())} {row.metric}"
    return all(word in name.lower() for word in filters.text.lower().split())


def _is(row: Across, verdict: str) -> bool:
    if verdict == "changed":
        return row.verdict in CHANGED
    return row.verdict == verdict


def _sorted(rows: list[Across], by: str) -> list[Across]:
    """What the order asked for leaves equal is in the order of names, and parameters as people count."""
    named = sorted(rows, key=lambda row: (row.suite, row.benchmark, counted_order(parameters(row.params)), row.metric))
    if by == "name":
        return named
    if by == "certainty":
        return sorted(named, key=lambda row: -row.sure)
    return sorted(named, key=lambda row: -row.size if row.verdict in CHANGED else 0.0)


def _sections(rows: Sequence[Across], columns: Sequence[Column], scale: Scale) -> Iterable[Section]:
    kinds = (
        ("changed", "Changed", (*TOLD, "disagree")),
        ("trouble", "Missing, failed or invalid", TROUBLED),
        ("open", "Inconclusive", ("inconclusive",)),
        ("unchanged", "Unchanged", ("unchanged",)),
    )
    for name, title, verdicts in kinds:
        lines = [line_of(row, columns, scale) for row in rows if row.verdict in verdicts]
        if lines:
            parts = tuple(tuple(lines[start : start + PART]) for start in range(0, len(lines), PART))
            yield Section(name, title, len(lines), parts)


def _sweeps(
    every: Sequence[Across], shown: Sequence[Across], columns: Sequence[Column], scale: Scale
) -> tuple[tuple[SweepShown, ...], set[int]]:
    """The sweeps of all targets, whole whatever is filtered, and which of the shown rows (by id) are folded into them: those
    that say nothing else.
    """
    groups: dict[tuple[str, str, str], list[Across]] = {}
    for row in every:
        groups.setdefault((row.suite, row.benchmark, row.metric), []).append(row)
    wanted: dict[tuple[str, str, str, str], dict[int, Mapping[str, Any]]] = {}
    for index, column in enumerate(columns):
        for sweep in column.answer.comparison["summary"]["sweeps"]:
            key = (sweep["suite"], sweep["benchmark"], sweep["metric"], sweep["parameter"])
            wanted.setdefault(key, {})[index] = sweep
    visible = {id(row) for row in shown}
    drawn_sweeps, folded = [], set()
    for (suite, benchmark, metric, parameter), of_targets in wanted.items():
        group = groups.get((suite, benchmark, metric), [])
        of_group = {id(row) for row in group}
        if not of_group & visible:
            continue
        drawn = tuple(
            (columns[index].target, sweep["words"], curve_)
            for index, sweep in of_targets.items()
            if (curve_ := _curve(group, index, columns[index].notable, sweep)) is not None
        )
        if drawn:
            quiet = [row for row in shown if row.verdict in ("unchanged", "inconclusive") and id(row) in of_group]
            folded |= {id(row) for row in quiet}
            changed = sum(row.verdict in CHANGED for row in group)
            words = f"{changed} of {len(group)} changed" if changed else f"none of {len(group)} changed"
            lines = tuple(line_of(row, columns, scale) for row in quiet)
            drawn_sweeps.append(SweepShown(benchmark, parameter, metric, group[0].unit, words, drawn, lines))
    return tuple(drawn_sweeps), folded


def _curve(group: Sequence[Across], index: int, notable: float, sweep: Mapping[str, Any]) -> Curve | None:
    points = [
        Point(value, cell, terms_of_row(cell, notable)[0], row_path(row))
        for row in group
        if (value := _number(row.params.get(sweep["parameter"]))) > 0
        and (cell := row.cells[index]) is not None
        and cell["base"]
        and cell["head"]
    ]
    if len({point.value for point in points}) < FEWEST:
        return None
    return curve(points, {side: sweep.get(f"{side}_bend") for side in ("base", "head")})


def _number(text: str | None) -> float:
    """A parameter's value; 0 for what is no number of a curve."""
    try:
        value = float(text or "")
    except ValueError:
        return 0.0
    return value if math.isfinite(value) else 0.0
