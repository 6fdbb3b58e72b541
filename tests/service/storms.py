"""Storms: many series that step at a few culprits, as comparisons that came and were not looked at yet."""

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from psycopg import Connection
from service_running import Running
from service_runs import MadeRun, commit_of, put_all, run_of

from cliffwatch_service.compare.analysis import analyse_run
from cliffwatch_service.history.changes import answers_watching, branches_with, take_changes
from cliffwatch_service.history.news.writing import write_news
from cliffwatch_service.history.watching.branch import watch_branch
from cliffwatch_service.history.watching.confirming import confirm_candidates

TREE = "https://git.example.org/bpf-next.git"
NAMES = [f"r{index:02d}" for index in range(13)]
PLATFORMS = ("emulated-x86-64", "emulated-arm64")
Levels = Mapping[int, Sequence[tuple[int, float]]]
"""By case: from which revision on it is slower, by how much. A negative size is faster."""


@dataclass(frozen=True)
class Arrived:
    """The digest of a run, and the revisions that it compares."""

    digest: str
    base: int
    head: int


def arrive(
    running: Running, levels: Levels, wide: Sequence[tuple[int, int]], platforms: Sequence[str] = PLATFORMS
) -> list[Arrived]:
    """Uploads counted comparisons of all neighbours, and of `wide` pairs, from each platform."""
    running.follow(TREE, "master", [commit_of(name) for name in NAMES])
    pairs = [(*pair, platform) for platform in platforms for pair in [*pairwise(range(len(NAMES))), *wide]]
    arrived = []
    with running.http("upload") as http:
        for seed, (base, head, platform) in enumerate(pairs):
            run = _run(levels, base, head, platform, seed)
            put_all(http, run)
            arrived.append(Arrived(run.digest, base, head))
    running.make_history()
    with running.service.transaction() as connection:  # comparing is the same in every order: it is done once
        for each in arrived:
            analyse_run(connection, each.digest, running.clock.now())
        connection.execute("DELETE FROM point")
    return arrived


def _run(levels: Levels, base: int, head: int, platform: str, seed: int) -> MadeRun:
    """Parameters are words: numbers would make the cases a curve, and finding its cliffs takes minutes."""
    run = run_of(
        boots=2,
        cases=len(levels),
        base=NAMES[base],
        head=NAMES[head],
        seed=seed,
        spread=0.0,
        mode="icount",
        platform=platform,
        host=f"host of {platform}",
    )
    for index, case in enumerate(run.record["plan"]["cases"]):
        case["params"] = {name: f"case {value}" for name, value in case["params"].items()}
        run.logs[0, :, index] += level(levels[index], base)
        run.logs[1, :, index] += level(levels[index], head)
    return run


def level(steps: Iterable[tuple[int, float]], revision: int) -> float:
    """By how much a revision is slower, as a log."""
    return sum(math.log1p(size) for start, size in steps if revision >= start)


def orders(arrived: Sequence[Arrived], shuffles: int) -> dict[str, list[Arrived]]:
    """The worst orders, and some at random. In each, some runs come twice."""
    again = list(arrived[::6])
    whole = [*arrived, *again]
    return {
        "oldest first": sorted(whole, key=lambda each: (each.base, each.head)),
        "newest first": sorted(whole, key=lambda each: (-each.base, each.head)),
        "wide first": sorted(whole, key=lambda each: (each.base - each.head, each.base)),
        "wide last": sorted(whole, key=lambda each: (each.head - each.base, each.base)),
        "one platform after the other": [*again, *arrived],
        **{f"shuffle {seed}": random.Random(seed).sample(whole, len(whole)) for seed in range(shuffles)},
    }


def look_at(connection: Connection[Any], digest: str, now: Any) -> None:
    """What the background tasks do with a run."""
    comparison = analyse_run(connection, digest, now)
    if comparison is not None and not answers_watching(connection, digest):
        take_changes(connection, comparison, now)
    for branch in branches_with(connection, digest):
        watch_branch(connection, branch, now)
    confirm_candidates(connection, now)
    write_news(connection, now)


@dataclass(frozen=True, order=True)
class Reported:
    """A report as people see it."""

    culprit: str
    state: str
    worse: int
    """Number of series that got worse."""
    fix: str | None = None
    fix_base: str | None = None


def reports(connection: Connection[Any]) -> list[Reported]:
    rows = connection.execute(
        "SELECT head.commit, report.state, count(DISTINCT series_id), min(fix.commit), min(fix.base)"
        " FROM regression_report AS report JOIN revision AS head ON head.id = head_revision_id"
        " LEFT JOIN change ON change.report_id = report.id AND change.state = 'confirmed'"
        " AND kind = 'regression'"
        " LEFT JOIN report_fix AS fix ON fix.report_id = report.id"
        " WHERE merged_into IS NULL GROUP BY report.id, head.commit ORDER BY 1, 2, 3"
    ).fetchall()
    return [Reported(*row) for row in rows]
