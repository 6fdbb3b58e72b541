"""The page that shows one revision on all platforms: a metric over two parameters, one block per target."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from psycopg import Connection

from cliffwatch.catalogue.load import load_catalogue
from cliffwatch.comparing.ordering import natural_key
from cliffwatch.comparing.validity import rehearsal_warning
from cliffwatch.parsers.per_operation import INSTRUCTIONS, nanoseconds
from cliffwatch.samples import CaseKey, Mode, is_rehearsal
from cliffwatch_service.compare.naming import find_revision
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
"""Name of the only row or column of a table, if no parameter varies along it."""


@dataclass(frozen=True, slots=True)
class Block:
    """The values of one platform and mode."""

    platform: str
    mode: Mode
    run: str
    """Digest."""
    metric: str
    """The page's metric, or instructions if this block has those in place of a time."""
    unit: str
    """Unit of that metric."""
    cells: Mapping[tuple[str, str], ArmPointRow]
    """By row and column."""
    beside: str | None
    """First platform of the same mode, which the values are compared with; None for that platform itself.

    Rehearsals are compared with rehearsals alone.
    """

    @property
    def rehearsed(self) -> bool:
        return is_rehearsal(self.platform)


@dataclass(frozen=True, slots=True, kw_only=True)
class SideBySide:
    """A metric of a benchmark over two of its parameters."""

    metric: str
    metrics: Sequence[str]
    """All metrics of the benchmark, to choose from."""
    unit: str
    down: str
    """Parameter of the rows; empty for none."""
    across: str
    """Parameter of the columns; empty for none."""
    varying: Sequence[str]
    """Parameters with more than one value."""
    fixed: Mapping[str, str]
    """Chosen values of the other varying parameters."""
    choices: Mapping[str, Sequence[str]]
    """All values of those parameters."""
    rows: Sequence[str]
    """Values of `down`."""
    columns: Sequence[str]
    """Values of `across`."""
    blocks: Sequence[Block]

    def difference(self, block: Block, place: tuple[str, str]) -> float | None:
        """Returns the difference of a cell from the first block of the same mode, as a fraction.

        It compares machines and is no verdict. None if either value is missing or the first is zero.
        """
        others = (each for each in self.blocks if (each.platform, each.mode) == (block.beside, block.mode))
        other = next(others, None)
        first, cell = other.cells.get(place) if other is not None else None, block.cells.get(place)
        if first is None or cell is None or first.centre == 0:
            return None
        return cell.centre / first.centre - 1


@dataclass(frozen=True, slots=True)
class TableChoices:
    """The choices in the query. The page chooses for empty fields."""

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
    """Shows one revision. `rows` and `columns` name parameters; each `at` fixes another: PARAMETER=VALUE."""
    with service.transaction() as connection:
        row = find_revision(connection, revision)
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
    wishes = TableChoices(metric, rows, columns, {name: value for name, _, value in pairs})
    shown = side_by_side(chosen, [each for each in measured if each[3]], wishes)
    platforms = dict.fromkeys(each.platform for each in shown.blocks)
    return page(
        request,
        visitor,
        "compare/platforms.html",
        revision=row,
        suite=chosen[0],
        benchmark=chosen[1],
        known=known,
        shown=shown,
        warnings=[(name, text) for name in platforms for text in rehearsal_warning(name)],
        all=ALL,
    )


def _arms(connection: Connection[Any], revision_id: int) -> list[tuple[str, Mode, MeasuredArmRow]]:
    """Returns the newest arm of a revision for each platform and mode, walltime first."""
    found = []
    for platform, mode in sorted(
        run_arms.targets_of(connection, revision_id), key=lambda target: target[1] != "walltime"
    ):
        arm = run_arms.latest_arm(connection, revision_id, platform, mode)
        if arm is not None:
            found.append((platform, mode, arm))
    return found


def _choose_case(known: Sequence[tuple[str, str]], suite: str, benchmark: str) -> tuple[str, str]:
    """Returns the first benchmark that fits the query. Raises Refusal if the revision has none that does."""
    for each in known:
        if suite in ("", each[0]) and benchmark in ("", each[1]):
            return each
    raise not_found("benchmark", f"{suite}/{benchmark}")


def side_by_side(named: tuple[str, str], measured: Measured, wishes: TableChoices) -> SideBySide:
    """Lays out the table of a benchmark. Ignores choices that the data do not offer.

    By default the rows are the values of the parameter that has the most.
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
        alike = (each for each in blocks if (each.mode, each.rehearsed) == (mode, is_rehearsal(platform)))
        first = next((each.platform for each in alike), None)
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
    """Returns the rows of a metric. If a target lacks this time or rate, returns its instructions instead."""
    found = [row for row in rows if row.metric == metric]
    if found or nanoseconds(1.0, unit) is None:
        return found
    return [row for row in rows if row.metric == INSTRUCTIONS]


def _params(row: ArmPointRow) -> dict[str, str]:
    return {name: value for name, value in row.params}  # noqa: C416 - dict() is not typed for pairs that are lists


def _metrics(named: tuple[str, str], measured: Measured) -> list[str]:
    """Returns the metrics, the catalogue's primary ones first. Instructions come last within each group."""
    rows = [(mode, row) for _, mode, _, rows in measured for row in rows]
    catalogue, case = load_catalogue(), CaseKey(*named)
    decides = {row.metric: catalogue.traits(case, row.metric, row.unit, mode).primary for mode, row in rows}
    return sorted(
        decides, key=lambda metric: (not decides[metric], metric == INSTRUCTIONS, natural_key(metric))
    )


def _fix_parameters(
    every: Sequence[Mapping[str, str]], names: Sequence[str], wished: Mapping[str, str]
) -> dict[str, str]:
    """Returns a value for each parameter: the requested one if it occurs, else the most frequent one.

    Each choice narrows the cases that the next one counts.
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
