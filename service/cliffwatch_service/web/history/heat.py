"""The heat map of a branch: what each of its commits changed in each case, on one target."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import Response
from psycopg import Connection

from cliffwatch.comparing.comparison import CHANGES, size_of
from cliffwatch.comparing.ordering import natural_key
from cliffwatch.formats.comparison import ComparisonRow
from cliffwatch.reports import figures
from cliffwatch.reports.several.row_addresses import row_path
from cliffwatch.samples import CaseKey
from cliffwatch_service.compare.stored import read_stored_rows
from cliffwatch_service.http.context import ModeName, PlatformName, ServiceHere
from cliffwatch_service.refusal import Refusal, not_found
from cliffwatch_service.store import overview, trees
from cliffwatch_service.store.overview import StripRow
from cliffwatch_service.store.trees import BranchRow
from cliffwatch_service.web.compare.lines import cell_text
from cliffwatch_service.web.layout.render import page, picture
from cliffwatch_service.web.layout.session import ReaderHere
from cliffwatch_service.web.layout.wording import parameters

router = APIRouter()

_LOOKED_AT = 200
"""Newest revisions of the branch among which compared ones are looked for."""
_MOST_COMMITS = 30
_MOST_CASES = 40
_MEDIUM, _LARGE = 0.02, 0.1
"""Sizes of a change from which its colour is stronger."""

Target = tuple[str, str]
"""Platform and mode."""
Case = tuple[CaseKey, str, str]
"""A case in a metric and its unit."""
BranchName = Annotated[str, Path(max_length=300)]
TreeAddress = Annotated[str | None, Query(max_length=2000)]


@dataclass(frozen=True, slots=True)
class HeatCell:
    """A case at a commit."""

    kind: str
    """CSS class: `worse`, `better`, `same`, `inconclusive`, `trouble`; empty for `changed`."""
    level: Literal[1, 2, 3]
    """Strength of the colour."""
    sign: str
    title: str
    href: str


@dataclass(frozen=True, slots=True)
class HeatRow:
    """A case with its cells."""

    case: ComparisonRow
    """One of its rows, which names it."""
    cells: Sequence[HeatCell | None]
    """One per commit; None where the case was not compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Heat:
    """A heat map."""

    branch: BranchRow
    targets: Sequence[Target]
    """On which revisions of the branch were compared."""
    target: Target | None
    """The drawn one; None if nothing was compared."""
    commits: Sequence[StripRow]
    """Compared revisions, oldest first."""
    rows: Sequence[HeatRow]
    measure: str
    """Metric, unit and direction of all rows; empty if they differ."""
    more: int
    """Cases that are not drawn. None of them changed by more than a drawn case."""


@router.get("/branches/{branch:path}.svg")
def draw_branch(
    branch: BranchName,
    request: Request,
    service: ServiceHere,
    visitor: ReaderHere,  # noqa: ARG001 - admits whoever may read
    tree: TreeAddress = None,
    platform: PlatformName = None,
    mode: ModeName = None,
) -> Response:
    with service.transaction() as connection:
        heat = _heat(connection, _branch(connection, branch, tree), platform, mode)
    if not heat.rows:
        raise Refusal(404, "nothing compared", "no revision of this branch was compared on such a target yet")
    return picture(request, "history/heat.svg", heat=heat)


@router.get("/branches/{branch:path}")
def show_branch(
    branch: BranchName,
    request: Request,
    service: ServiceHere,
    visitor: ReaderHere,
    tree: TreeAddress = None,
    platform: PlatformName = None,
    mode: ModeName = None,
) -> Response:
    with service.transaction() as connection:
        heat = _heat(connection, _branch(connection, branch, tree), platform, mode)
    return page(request, visitor, "history/branch.html", heat=heat)


def _branch(connection: Connection[Any], name: str, tree: str | None) -> BranchRow:
    found = trees.branches_called(connection, name, tree) if name.isprintable() else []
    if not found:
        raise not_found("branch", name)
    if len(found) > 1:
        raise Refusal(409, "several branches", f"{len(found)} trees have a branch {name}: add ?tree=ADDRESS")
    return found[0]


def _heat(connection: Connection[Any], branch: BranchRow, platform: str | None, mode: str | None) -> Heat:
    strip = [
        row for row in overview.strip_of(connection, branch.id, _LOOKED_AT) if row.comparison is not None
    ]
    targets = sorted({(row.platform or "", row.mode or "") for row in strip})
    target = next((each for each in targets if platform in (None, each[0]) and mode in (None, each[1])), None)
    commits = [row for row in strip if (row.platform, row.mode) == target][:_MOST_COMMITS][::-1]
    compared = [
        {_case_of(row): row for row in read_stored_rows(connection, commit.comparison) if row.primary}
        for commit in commits
        if commit.comparison is not None
    ]
    cases = _choose(compared)
    shown = sorted(cases[:_MOST_CASES], key=_name)
    measures = {figures.measure(row.metric, row.unit, row.better) for row in shown}
    return Heat(
        branch=branch,
        targets=targets,
        target=target,
        commits=commits,
        rows=[
            HeatRow(
                case,
                [
                    _cell(commit, rows.get(_case_of(case)))
                    for commit, rows in zip(commits, compared, strict=True)
                ],
            )
            for case in shown
        ],
        measure=measures.pop() if len(measures) == 1 else "",
        more=len(cases) - len(shown),
    )


def _case_of(row: ComparisonRow) -> Case:
    return row.case, row.metric, row.unit


def _name(row: ComparisonRow) -> tuple[object, ...]:
    return row.suite, row.benchmark, natural_key(parameters(row.params)), row.metric


def _choose(compared: Iterable[Mapping[Case, ComparisonRow]]) -> list[ComparisonRow]:
    """Returns a row of each case, those with the largest reported change first."""
    largest: dict[Case, float] = {}
    rows: dict[Case, ComparisonRow] = {}
    for of_commit in compared:
        rows |= of_commit
        for case, row in of_commit.items():
            size = size_of(row) if row.verdict in CHANGES else 0.0
            largest[case] = max(largest.get(case, 0.0), size)
    return [rows[case] for case in sorted(largest, key=lambda case: -largest[case])]


def _cell(commit: StripRow, row: ComparisonRow | None) -> HeatCell | None:
    if row is None:
        return None
    kind, text, small = cell_text(row)
    size = size_of(row)
    path = row_path(row.suite, row.benchmark, row.params, row.metric)
    return HeatCell(
        kind=kind,
        level=3 if size >= _LARGE else 2 if size >= _MEDIUM else 1,
        sign="" if kind == "same" else text[0],
        title=f"{commit.commit[:12]}: {text}; {small}",
        href=f"/compare/{(commit.base or '')[:12]}...{commit.commit[:12]}/cases/{path}",
    )
