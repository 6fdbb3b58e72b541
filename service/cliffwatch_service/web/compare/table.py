"""The content of the compare page: groups of rows, columns, sweeps and sentences of stored comparisons."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from psycopg import Connection

from cliffwatch.comparing.ordering import CHANGED, GROUPS, sort_rows
from cliffwatch.reports.context import limitation
from cliffwatch.reports.several.across import Across, across, describe_targets
from cliffwatch_service.compare.answering import answer_sentences, are_in_turns
from cliffwatch_service.compare.filters import Filters
from cliffwatch_service.compare.pairing import Answer, targets_of
from cliffwatch_service.compare.stored import read_stored_rows
from cliffwatch_service.web.compare.columns import Column, Rows, column_of, thresholds_of
from cliffwatch_service.web.compare.lines import table_row
from cliffwatch_service.web.compare.overview import ChangeStrip, LargestChange, change_strips, largest_change
from cliffwatch_service.web.compare.sweeps import SweepSection, sweeps_of
from cliffwatch_service.web.compare.tables import Tables
from cliffwatch_service.web.layout.drawing import Scale, common_scale
from cliffwatch_service.web.layout.render import query


@dataclass(frozen=True, slots=True)
class RowSection:
    """The rows of one group of verdicts."""

    name: str
    title: str
    first: bool
    """True if the section stands before the sweeps."""
    count: int
    parts: tuple[bytes, ...]
    """The rows as packed HTML; see `tables`."""


@dataclass(frozen=True, slots=True)
class ComparePage:
    """The content of the compare page."""

    sentence: str
    why: str
    """What the changed rows share and their cause, in sentences; empty if unknown."""
    failed_alike: bool
    """True if nothing was compared, because an arm such as a kernel that does not build failed."""
    largest: LargestChange | None
    strips: tuple[ChangeStrip, ...]
    sights: tuple[str, ...]
    """Limitations of the modes, in words."""
    columns: tuple[Column, ...]
    scale: Scale
    sections: tuple[RowSection, ...]
    sweeps: tuple[SweepSection, ...]
    shown: int
    """Number of rows that pass the filters."""
    total: int
    wheres: tuple[str, ...]
    """Values of the filter `where`: the sets of targets on which rows changed, in words."""
    suites: tuple[str, ...]
    platforms: tuple[str, ...]
    modes: tuple[str, ...]


def rows_of(connection: Connection[Any], answers: Sequence[Answer]) -> list[Rows]:
    """Reads the stored rows of every answer."""
    return [read_stored_rows(connection, each.comparison.id) for each in answers]


def build_page(answers: Sequence[Answer], rows: Sequence[Rows], filters: Filters, pair: str) -> ComparePage:
    """Builds the page of these answers. `pair` is its URL path below /compare/."""
    targets = targets_of(answers)
    every = across(rows, all_metrics=filters.metrics == "all")
    shown = sort_rows(filters.choose(every, targets), filters.sort)
    thresholds = [thresholds_of(each, of_target) for each, of_target in zip(answers, rows, strict=True)]
    scale = common_scale(
        [cell for row in shown for cell in row.cells if cell],
        [each for of_column in thresholds for each in of_column],
    )
    columns = tuple(column_of(*each, scale) for each in zip(targets, answers, rows, thresholds, strict=True))
    chosen_columns = query({"platform": filters.platform, "mode": filters.mode}).replace("?", "&")
    tables = Tables(pair, chosen_columns, columns)
    sweeps, folded = sweeps_of(every, shown, tables, scale)
    in_turns = are_in_turns(answers)
    answer = answer_sentences(answers, every)
    return ComparePage(
        sentence=answer.heading,
        why=answer.below,
        failed_alike=answer.is_failure,
        largest=largest_change(every, columns),
        strips=change_strips(shown, columns, scale),
        sights=tuple(dict.fromkeys(limitation(target.mode, target.platform) for target in targets)),
        columns=columns,
        scale=scale,
        sections=tuple(
            _sections([row for row in shown if id(row) not in folded], tables, scale, in_turns=in_turns)
        ),
        sweeps=sweeps,
        shown=len(shown),
        total=len(every),
        wheres=tuple(
            sorted({describe_targets(row, targets) for row in every if row.verdict in CHANGED} - {""})
        ),
        suites=tuple(dict.fromkeys(row.suite for row in every)),
        platforms=tuple(dict.fromkeys(target.platform for target in targets)),
        modes=tuple(dict.fromkeys(target.mode for target in targets)),
    )


def _sections(
    rows: Sequence[Across], tables: Tables, scale: Scale, *, in_turns: bool
) -> Iterable[RowSection]:
    for group in GROUPS:
        lines = [table_row(row, tables.columns, scale) for row in rows if row.group in group.verdicts]
        if lines:
            title = group.title if in_turns else group.title_apart
            yield RowSection(group.name, title, group.first, len(lines), tables.packed(lines, title))
