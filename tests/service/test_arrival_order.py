"""What a branch's results show does not depend on the order in which they come, nor on which come twice."""

import math
import random
from itertools import pairwise
from typing import Any

import pytest
from service_running import Running
from service_runs import commit_of, put_all, run_of

from cliffwatch_service.compare.analysis import analyse_run
from cliffwatch_service.history.changes import answers_watching, branches_with, take_changes
from cliffwatch_service.history.watching.branch import watch_branch
from cliffwatch_service.history.watching.confirming import confirm_candidates

TREE = "https://git.example.org/bpf-next.git"
NAMES = [f"r{index:02d}" for index in range(13)]
SHUFFLES = 12
LEVELS = {0: [(4, 0.03), (9, -0.02)], 1: [(5, 0.05)], 2: [(11, 0.004)]}
"""By case: from which revision on it is slower, by how much."""


def level(case: int, revision: int) -> float:
    slower = 1.0
    for start, size in LEVELS[case]:
        slower *= 1 + size if revision >= start else 1
    return slower


@pytest.fixture
def arrived(running: Running) -> tuple[Any, list[str]]:
    """Counted comparisons of neighbours, and some across several revisions, that came and were not looked at
    yet.
    """
    running.follow(TREE, "master", [commit_of(name) for name in NAMES])
    pairs = [*pairwise(range(len(NAMES))), (0, 4), (3, 6), (6, 12)]
    digests = []
    with running.http("upload") as http:
        for seed, (base, head) in enumerate(pairs):
            run = run_of(
                boots=2,
                cases=3,
                base=NAMES[base],
                head=NAMES[head],
                seed=seed,
                spread=0.0,
                mode="icount",
                platform="emulated-x86-64",
                host="emulator-1",
            )
            for case in LEVELS:
                run.logs[0, :, case] += _log(level(case, base))
                run.logs[1, :, case] += _log(level(case, head))
            put_all(http, run)
            digests.append(run.digest)
    running.make_history()
    with running.service.transaction() as connection:  # comparing is the same in every order: it is done once
        for digest in digests:
            analyse_run(connection, digest, running.clock.now())
        connection.execute("DELETE FROM point")
    return running, digests


def _log(value: float) -> float:
    return math.log(value)


def look_at(connection: Any, digest: str, now: Any) -> None:
    """What the background task does with a run."""
    comparison = analyse_run(connection, digest, now)
    if comparison is not None and not answers_watching(connection, digest):
        take_changes(connection, comparison, now)
    for branch in branches_with(connection, digest):
        watch_branch(connection, branch, now)
    confirm_candidates(connection, now)


def standing(connection: Any) -> set[tuple[Any, ...]]:
    rows = connection.execute(
        "SELECT case_id, base.commit AS base, head.commit AS head, change.state, kind, round(size::numeric,"
        " 5) AS size, report_id IS NOT NULL AS reported FROM change JOIN series ON series.id = series_id JOIN"
        " revision AS base ON base.id = base_revision_id JOIN revision AS head ON head.id = head_revision_id"
        " WHERE change.state <> 'superseded'"
    ).fetchall()
    return {tuple(row) for row in rows}


def test_all_orders_of_arrival_with_duplicates_give_the_same_changes(arrived: Any) -> None:
    running, digests = arrived
    seen = []
    for seed in range(SHUFFLES):
        order = [*digests, *random.Random(seed).sample(digests, 4)]
        random.Random(seed).shuffle(order)
        with running.service.transaction() as connection:
            for digest in order:
                look_at(connection, digest, running.clock.now())
            seen.append(standing(connection))
            connection.rollback()
    neighbours = {(commit_of(before), commit_of(after)) for before, after in pairwise(NAMES)}
    assert [each ^ seen[0] for each in seen if each != seen[0]] == []
    assert {row[3] for row in seen[0]} == {"confirmed"}
    assert len([row for row in seen[0] if row[1:3] in neighbours]) == 4
