"""Locates changes in walltime by means of icount, if icount shows them.

A comparison in icount is exact and takes one or two boots.

1. Both ends of the range are compared in icount.
2. The changes in icount are changes of their own, and a bisection in icount narrows them.
3. Walltime compares the commit that icount named with the commit before, once.

The next action follows from the stored results alone.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from psycopg import Connection

from cliffwatch.catalogue.load import load_catalogue
from cliffwatch.comparing.comparison import CHANGES
from cliffwatch.identities import series_digest
from cliffwatch.reports.figures import percent
from cliffwatch.samples import CaseKey
from cliffwatch.stats.history.culprits.graph import Graph
from cliffwatch.stats.history.culprits.question import Pair, SearchResult, Step
from cliffwatch_service.history.bisection.judging import Judge
from cliffwatch_service.history.follow import ONLY_AFFECTED
from cliffwatch_service.history.presets import DEFAULT_TARGET
from cliffwatch_service.history.watching.confirming import Rows, rows_by_series
from cliffwatch_service.jobs.targets import Needs, platforms_seen
from cliffwatch_service.store import follows
from cliffwatch_service.store.history import locating
from cliffwatch_service.store.history.bisections import BisectionRow, StepRow
from cliffwatch_service.store.history.locating import CountedChangeRow
from cliffwatch_service.store.series import SeriesRow

SHOWS_FROM = 0.5
"""Least share of a change in walltime that the change in icount must reach to show it.

A row in walltime counts as changed from the same share. If instructions explain less, another commit may have
made the larger part without executing more instructions (caches, layout).
"""

LEAST = f"{100 * SHOWS_FROM:g} %"

PATIENCE = timedelta(days=2)
"""Longest time that a bisection in walltime waits for icount.

A platform is available if one of its hosts was seen within this time.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """How a bisection in walltime continues."""

    why: str | None
    """The reason, for people; None to leave the stored reason as it is."""
    platform: str | None = None
    """Platform on which to compare the ends in icount; None if that is not next."""
    pair: Pair | None = None
    """Pair that walltime is to verify: the commit before, and the commit that icount named."""
    waits: bool = False
    """Whether the bisection waits for icount."""
    located: Mapping[str, Pair] = field(default_factory=dict)
    """Pairs that walltime verified, by series. The other series are searched in walltime."""
    verified: int = 0
    """Number of pairs that icount named."""


def choose_course(
    connection: Connection[Any],
    row: BisectionRow,
    steps: Sequence[StepRow],
    judge: Judge,
    about: Mapping[str, SeriesRow],
    graph: Graph,
    now: datetime,
) -> Course:
    """Decides how a bisection in walltime continues.

    `judge` judges the noisy series that changed; `about` has their rows by digest.
    """
    named = named_pairs(locating.counted_changes(connection, list(judge.sizes)), judge.sizes, graph, row)
    pairs = tuple(dict.fromkeys(named.values()))
    for pair in pairs:
        if judge.judged(pair) is None:
            why = f"icount names {pair.head[:12]}, which walltime compares with the commit before"
            return Course(why=why, pair=pair, verified=len(pairs))
    located = _find_verified(judge, named, pairs)
    left = [series for series in judge.sizes if series not in located]
    if not left:
        why = "located in icount; walltime shows the change at the same commit"
        return Course(why=why, located=located, verified=len(pairs))
    denied = [named[series].head for series in left if series in named]
    if denied:
        why = f"in walltime: it does not bear out {denied[0][:12]}, which icount names"
        return Course(why=why, located=located, verified=len(pairs))
    ends = Pair(row.base, row.head)
    if any(step.mode == row.mode and Pair(step.base, step.head) not in (ends, *pairs) for step in steps):
        return Course(why=None, located=located, verified=len(pairs))  # the search in walltime has begun
    course = _icount_ends(connection, row, judge, [about[series] for series in left], now)
    return Course(
        why=course.why, platform=course.platform, waits=course.waits, located=located, verified=len(pairs)
    )


def named_pairs(
    counted: Iterable[CountedChangeRow], sizes: Mapping[str, float | None], graph: Graph, row: BisectionRow
) -> dict[str, Pair]:
    """Returns, by series, the pair in the range whose change in icount shows the series' change in walltime.

    Of several such changes, the largest counts. A pair is one commit and its parent. It spans several commits
    only if a bisection could not narrow it. `counted` has the largest change of each series first. Pure.
    """
    named: dict[str, Pair] = {}
    inside = graph.brought_in(row.head, row.base)
    for change in counted:
        pair, parents = Pair(change.base, change.head), graph.parents_of(change.head)
        whole = pair == (row.base, row.head)
        if whole or change.head not in inside or not icount_shows(change.size, sizes[change.series]):
            continue
        within = change.base in parents or change.base in inside or change.base == row.base
        if parents == (change.base,) or (change.by_bisection and within):
            named.setdefault(change.series, pair)
    return named


def located_result(course: Course, judge: Judge, graph: Graph) -> SearchResult:
    """Returns the steps that walltime verified, in the form of a search's result. Pure."""
    steps = []
    for series, pair in course.located.items():
        judged = judge.judged(pair)
        way = "open" if judged is None else judged.row(series).way
        if way in ("regression", "improvement"):
            alone = pair.base in graph.parents_of(pair.head)
            inside = () if alone else graph.brought_in(pair.head, pair.base)
            commits = tuple(each for each in reversed(list(graph.parents)) if each in inside) or (pair.head,)
            steps.append(Step(row=series, way=way, commits=commits, pair=pair))
    return SearchResult(rows=tuple(course.located), steps=tuple(steps), marks=())


def icount_shows(counted: float | None, timed: float | None) -> bool:
    """Whether a change in icount shows the change in walltime of the same case and metric.

    Both are fractions. False if either has no percentage (None).
    """
    return counted is not None and timed is not None and timed != 0 and counted / timed >= SHOWS_FROM


def _find_verified(judge: Judge, named: Mapping[str, Pair], pairs: Sequence[Pair]) -> dict[str, Pair]:
    """Returns the series that step in walltime at a commit that icount named, each with its pair.

    The commit may be one that icount named for another series of the range.
    """
    located: dict[str, Pair] = {}
    for series in judge.sizes:
        own = [named[series]] if series in named else []
        for pair in (*own, *pairs):
            judged = judge.judged(pair)
            if judged is not None and judged.row(series).way in ("regression", "improvement"):
                located.setdefault(series, pair)
    return located


def _icount_ends(
    connection: Connection[Any],
    row: BisectionRow,
    judge: Judge,
    about: Sequence[SeriesRow],
    now: datetime,
) -> Course:
    """Decides how to continue for series without a named commit.

    Uses the comparison of the ends in icount, or chooses a platform for it.
    """
    exact = [each for each in about if is_counted(each)]
    if not exact:
        return Course(why="in walltime: icount does not measure these cases, or does not repeat")
    asked = locating.counted_ends(connection, row, now - PATIENCE)
    if asked is not None and asked.state == "asked":
        return Course(
            why=f"first in icount, on {asked.platform}: both ends, which another bisection asked for",
            waits=True,
        )
    if asked is not None:
        return _answers_in_icount(connection, row, asked, judge, exact, now)
    platform = _platform(connection, row, now)
    if platform is None:
        why = (
            f"in walltime: no host has offered icount for {PATIENCE.days} days; start `cliffwatch worker`"
            " on one"
        )
        return Course(why=why)
    return Course(why=f"first in icount, on {platform}: both ends", platform=platform)


def _answers_in_icount(
    connection: Connection[Any],
    row: BisectionRow,
    asked: StepRow,
    judge: Judge,
    about: Sequence[SeriesRow],
    now: datetime,
) -> Course:
    """Decides how to continue after the ends were compared in icount.

    `about` are the series that icount measures, and for which it named no commit.
    """
    where = asked.platform
    if asked.comparison_id is None:
        return Course(why=f"in walltime: both ends were not compared in icount, on {where}: {asked.reason}")
    rows = rows_by_series(connection, asked.comparison_id, where, "icount")
    shown = _largest_change_in_icount(rows, judge.sizes, about, where)
    if shown is None:
        return Course(why=f"in walltime: icount on {where} shows less than {LEAST} of the change, or none")
    since = locating.counting_since(connection, row, where)
    if since is None:
        return Course(why=f"in walltime: icount on {where} shows the change, and named no commit for it")
    if now - since > PATIENCE:
        return Course(why=f"in walltime: icount on {where} has not answered for {PATIENCE.days} days")
    return Course(why=f"in icount on {where}, which shows the change: {shown}", waits=True)


def is_counted(about: SeriesRow) -> bool:
    """Whether icount measures the case, and the metric is exact there."""
    catalogue = load_catalogue()
    params = tuple((name, value) for name, value in about.params)
    benchmark = catalogue.benchmark(about.benchmark)
    specs = () if benchmark is None else benchmark.cases
    if any(spec.guest.concurrent and sorted(spec.params) == sorted(params) for spec in specs):
        return False
    case = CaseKey(about.suite, about.benchmark, params)
    return catalogue.traits(case, about.metric, about.unit, "icount").assume == "exact"


def _platform(connection: Connection[Any], row: BisectionRow, now: datetime) -> str | None:
    """Returns the platform on which to compare in icount; None if no host offers icount.

    Prefers a platform on which the branch is followed in icount, then the platform that any host can emulate.
    """
    seen = platforms_seen(connection, "icount", Needs(setup=ONLY_AFFECTED), now - PATIENCE)
    entries = [each for each in follows.list_follows(connection) if each.branch_id == row.branch_id]
    followed = {platform for each in entries for platform, mode in each.targets if mode == "icount"}
    return min(seen, key=lambda name: (name not in followed, name != DEFAULT_TARGET[0], name), default=None)


def _largest_change_in_icount(
    rows: Rows, sizes: Mapping[str, float | None], about: Sequence[SeriesRow], platform: str
) -> str | None:
    """Describes the largest change in walltime that icount shows, with its sizes in both modes.

    None if icount shows none of the changes.
    """
    read = []
    for each in about:
        case = CaseKey(each.suite, each.benchmark, tuple((name, value) for name, value in each.params))
        counted = rows.get(series_digest(case, each.metric, each.unit, platform, "icount"))
        timed = sizes[each.digest]
        if counted is None or counted.change is None or counted.verdict not in CHANGES:
            continue
        if timed is not None and icount_shows(counted.change, timed):
            read.append((timed, counted.change))
    if not read:
        return None
    timed, change = max(read, key=lambda pair: abs(pair[0]))
    return f"{percent(change)} there, {percent(timed)} in walltime"
