"""What a branch's results show does not depend on the order in which they come, nor on which come twice."""

import random
from itertools import pairwise
from typing import Any

from service_running import Running
from service_runs import commit_of
from storms import NAMES, Levels, arrive, look_at

SHUFFLES = 12
WIDE = [(0, 4), (3, 6), (6, 12)]
LEVELS: Levels = {0: [(4, 0.03), (9, -0.02)], 1: [(5, 0.05)], 2: [(11, 0.004)]}
"""By case: from which revision on it is slower, by how much."""


def standing(connection: Any) -> set[tuple[Any, ...]]:
    rows = connection.execute(
        "SELECT case_id, base.commit AS base, head.commit AS head, change.state, kind, round(size::numeric,"
        " 5) AS size, report_id IS NOT NULL AS reported FROM change JOIN series ON series.id = series_id JOIN"
        " revision AS base ON base.id = base_revision_id JOIN revision AS head ON head.id = head_revision_id"
        " WHERE change.state <> 'superseded'"
    ).fetchall()
    return {tuple(row) for row in rows}


def test_all_orders_of_arrival_with_duplicates_give_the_same_changes(running: Running) -> None:
    """What comparisons across several revisions show is what those of the neighbours show."""
    digests = [each.digest for each in arrive(running, LEVELS, WIDE, ["emulated-x86-64"])]
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
    assert len(seen[0]) == len([row for row in seen[0] if row[1:3] in neighbours]) == 4
