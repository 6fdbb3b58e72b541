"""Platforms of one revision side by side: a benchmark's metric over two of its parameters, a block for each
platform and mode.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from psycopg import Connection

from cliffwatch.catalogue.load import load_catalogue
from cliffwatch.comparing.ordering import natural_key
from cliffwatch.parsers.per_operation import INSTRUCTIONS, nanoseconds
from cliffwatch.samples import CaseKey, Mode
from cliffwatch_service.compare.naming import revision_named
from cliffwatch_service.http.context import ServiceHere
from cliffwatch_service.refusal import not_found
from cliffwatch_service.store import run_arms
from cliffwatch_service.store.history import points
from cliffwatch_service.store.history.points import ArmPointRow
from cliffwatch_service.store.run_arms import MeasuredArmRow
from cliffwatch_service.web.compare.page import Text
from cliffwatch_service.web.layout.render import page
from cliffwatch_service.web.layout.session import ReaderHere

router = APIRouter()

_MOST_POINTS = 5000
_MOST_PARAMETERS = 20
ALL = ""
"""The place of a table that has one row or column, because nothing varies along it."""


@dataclass(frozen=True, slots=True)
class Block:
    """What one platform and mode read; `cells` by row and column.

    metric, unit: the page's, or the instructions of an operation where this block has these and not the
    time that the others have beside: the first platform of its mode, beside whose values its own stand;
    None for that one
    """

    platform: str
    mode: Mode
    run: str
    metric: str
    unit: str
    cells: Mapping[tuple[str, str], ArmPointRow]
    beside: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SideBySide:
    """A metric of a benchmark over the parameters `down` and `across`, empty for none, whose values are
    `rows` and `columns`; of each other parameter that varies `fixed` has the value that is shown, and
    `choices` all of them.
    """

    metric: str
    metrics: Sequence[str]
    unit: str
    down: str
    across: str
    varying: Sequence[str]
    fixed: Mapping[str, str]
    choices: Mapping[str, Sequence[str]]
    rows: Sequence[str]
    columns: Sequence[str]
    blocks: Sequence[Block]

    def difference(self, block: Block, place: tuple[str, str]) -> float | None:
        """How much more a block reads than the first one of its mode, as a fraction: machines side by side,
        no verdict. None where either has no value.
        """
        others = (each for each in self.blocks if (each.platform, each.mode) == (block.beside, block.mode))
        other = next(others, None)
        first, cell = other.cells.get(place) if other is not None else None, block.cells.get(place)
        if first is None or cell is None or first.centre == 0:
            return None
        return cell.centre / first.centre - 1


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the address asks for; empty is for the page to choose."""

    metric: str
    down: str
    across: str
    at: Mapping[str, str]


Measured = Sequence[tuple[str, Mode, MeasuredArmRow, Sequence[ArmPointRow]]]


@router.get("/platforms")
def show(
    request: Request,
    service: ServiceHere,
    visitor: ReaderHere,
    revision: Text,
    suite: Text = "",
    benchmark: Text = "",
    metric: Text = "",
    rows: Text = "",
    columns: Text = "",
    at: Annotated[
        list[Annotated[str, Query(max_length=200)]] | None, Query(max_length=_MOST_PARAMETERS)
    ] = None,
) -> Response:
    """One revision; `rows` and `columns` name parameters, each `at` is PARAMETER=VALUE of another one."""
    with service.transaction() as connection:
        row = revision_named(connection, revision)
        arms = _arms(connection, row.id)
        known = points.benchmarks_of_arms(connection, [arm.id for _, _, arm in arms])
        if not known:
            return page(request, visitor, "compare/platforms_empty.html", revision=row)
        chosen = next((each for each in known if each == (suite, benchmark)), None) or _choose_case(
            known, suite, benchmark
        )
        measured = [
            (platform, mode, arm, points.points_of_arm(connection, arm.id, *chosen, _MOST_POINTS))
            for platform, mode, arm in arms
        ]
    pairs = (each.partition("=") for each in at or ())
    wishes = Wishes(metric, rows, columns, {name: value for name, _, value in pairs})
    return page(
        request,
        visitor,
        "compare/platforms.html",
        revision=row,
        suite=chosen[0],
        benchmark=chosen[1],
        known=known,
        shown=side_by_side(chosen, [each for each in measured if each[3]], wishes),
        all=ALL,
    )


def _arms(connection: Connection[Any], revision_id: int) -> list[tuple[str, Mode, MeasuredArmRow]]:
    """The newest measurement on each platform and in each mode, platforms of one mode side by side."""
    found = []
    for platform, mode in sorted(
        run_arms.targets_of(connection, revision_id), key=lambda target: target[1] != "walltime"
    ):
        arm = run_arms.latest_arm(connection, revision_id, platform, mode)
        if arm is not None:
            found.append((platform, mode, arm))
    return found


def _choose_case(known: Sequence[tuple[str, str]], suite: str, benchmark: str) -> tuple[str, str]:
    """What is nearest to what was asked for. Raises Refusal where this revision has nothing of it."""
    for each in known:
        if suite in ("", each[0]) and benchmark in ("", each[1]):
            return each
    raise not_found("benchmark", f"{suite}/{benchmark}")


def side_by_side(named: tuple[str, str], measured: Measured, wishes: Wishes) -> SideBySide:
    """The table for what was measured, by the wishes that can be met. Rows are, where nobody says, over the
    parameter with the most values.
    """
    metrics = _metrics(named, measured)
    metric = wishes.metric if wishes.metric in metrics else metrics[0]
    unit = next((row.unit for _, _, _, rows in measured for row in rows if row.metric == metric), "")
    taken = [(platform, mode, arm, _of_metric(rows, metric, unit)) for platform, mode, arm, rows in measured]
    every = [_params(row) for _, _, _, rows in taken for row in rows]
    values = {
        name: sorted({params[name] for params in every if name in params}, key=natural_key)
        for name in dict.fromkeys(name for params in every for name in params)
    }
    varying = sorted((name for name in values if len(values[name]) > 1), key=lambda name: -len(values[name]))
    down = (
        wishes.down
        if wishes.down in varying
        else next((name for name in varying if name != wishes.across), "")
    )
    across = wishes.across if wishes.across in varying and wishes.across != down else ""
    across = across or next((name for name in varying if name != down), "")
    others = [name for name in varying if name not in (down, across)]
    fixed = _fix_parameters(every, others, wishes.at)
    blocks: list[Block] = []
    for platform, mode, arm, rows in taken:
        first = next((each.platform for each in blocks if each.mode == mode), None)
        own = (rows[0].metric, rows[0].unit) if rows else (metric, unit)
        blocks.append(Block(platform, mode, arm.run, *own, _cells(rows, down, across, fixed), beside=first))
    places = {place for block in blocks for place in block.cells}
    return SideBySide(
        metric=metric,
        metrics=metrics,
        unit=unit,
        down=down,
        across=across,
        varying=varying,
        fixed=fixed,
        choices={name: values[name] for name in others},
        rows=sorted({row for row, _ in places}, key=natural_key),
        columns=sorted({column for _, column in places}, key=natural_key),
        blocks=blocks,
    )


def _of_metric(rows: Sequence[ArmPointRow], metric: str, unit: str) -> list[ArmPointRow]:
    """The rows of a metric, or of the instructions that stand for a time or rate where hardware has that and
    a count has not.
    """
    found = [row for row in rows if row.metric == metric]
    if found or nanoseconds(1.0, unit) is None:
        return found
    return [row for row in rows if row.metric == INSTRUCTIONS]


def _params(row: ArmPointRow) -> dict[str, str]:
    return {name: value for name, value in row.params}  # noqa: C416 - pairs are lists here, which dict() has no type for


def _metrics(named: tuple[str, str], measured: Measured) -> list[str]:
    """Those that decide first, as the catalogue has them; instructions after the time beside which they
    stand.
    """
    rows = [(mode, row) for _, mode, _, rows in measured for row in rows]
    catalogue, case = load_catalogue(), CaseKey(*named)
    decides = {row.metric: catalogue.traits(case, row.metric, row.unit, mode).primary for mode, row in rows}
    return sorted(
        decides, key=lambda metric: (not decides[metric], metric == INSTRUCTIONS, natural_key(metric))
    )


def _fix_parameters(
    every: Sequence[Mapping[str, str]], names: Sequence[str], wished: Mapping[str, str]
) -> dict[str, str]:
    """A value for each of these parameters: the one that is asked for, else that of the most cases among
    those left.
    """
    fixed: dict[str, str] = {}
    left = list(every)
    for name in sorted(names, key=lambda name: name not in wished):
        found = [params.get(name, "") for params in left]
        fixed[name] = wished[name] if wished.get(name) in found else max(sorted(set(found)), key=found.count)
        left = [params for params in left if params.get(name, "") == fixed[name]]
    return {name: fixed[name] for name in names}


def _cells(
    rows: Sequence[ArmPointRow], down: str, across: str, fixed: Mapping[str, str]
) -> dict[tuple[str, str], ArmPointRow]:
    cells = {}
    for row in rows:
        params = _params(row)
        if all(params.get(name, "") == value for name, value in fixed.items()):
            cells[params.get(down, ALL), params.get(across, ALL)] = row
    return cells
