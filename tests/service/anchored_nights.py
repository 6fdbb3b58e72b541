"""Nights of a followed branch, made up: each a run of base, head and, where it has one, the anchor, on a host
that drifts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray
from series_without_points import SERIES, branch_without_points
from service_running import Running
from service_runs import commit_of

from cliffwatch_service.history.watching.branch import watch_branch
from cliffwatch_service.store.history.anchors import replace_anchor_points
from cliffwatch_service.store.history.points import replace_points

SPREAD = 0.003
Logs = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Nights:
    """As logs: what every kernel reads more on the host of each night, (nights,), and what a night's base,
    head and anchor read apart from that, (nights, series); `anchors` names the anchor of each night, None
    of one without.
    """

    host: Logs
    base: Logs
    head: Logs
    anchor: Logs
    anchors: tuple[str | None, ...]


def nights_of(count: int, *, host: Logs, branch: Logs | None = None, seed: int = 7) -> Nights:
    """A night's head is the next night's base; `branch` is by how much the heads are slower, (nights,
    series).
    """
    noise = np.random.default_rng(seed).normal(np.log(100), SPREAD, (3, count, SERIES))
    heads = np.zeros((count, SERIES)) if branch is None else branch
    bases = np.concatenate([heads[:1], heads[:-1]])
    names = ("tagged",) * count
    return Nights(
        host=host, base=noise[0] + bases, head=noise[1] + heads, anchor=noise[2] + 0.05, anchors=names
    )


def drifting(count: int, *, by: float, step: float, at: int) -> Logs:
    """A host that drifts over all nights and steps in one."""
    host = np.log1p(by) * np.arange(count) / (count - 1)
    host[at:] += np.log1p(step)
    return np.asarray(host)


def measured_nights(
    running: Running,
    nights: Nights,
    mode: str = "walltime",
    *,
    order: Sequence[int] | None = None,
    watch_every: int | None = None,
) -> int:
    """The branch's id. Nights come in the order given, and the branch is watched after so many of them."""
    count = len(nights.host)
    branch = branch_without_points(running, count, mode)
    for number, index in enumerate(range(count) if order is None else order, start=1):
        _night(running, branch, index, nights)
        if watch_every is not None and number % watch_every == 0:
            watch(running, branch)
    return branch


_RUN = """
INSERT INTO run (digest, identity, platform, mode, status, host_id, environment_id, created, received, updated, record, record_digest,
                 uploaded_by, of_history)
SELECT md5('night ' || %(night)s), identity, platform, mode, status, host_id, environment_id, created + %(later)s, received, updated, record,
       record_digest, uploaded_by, true FROM run ORDER BY id LIMIT 1 RETURNING id, environment_id
"""


def _night(running: Running, branch: int, index: int, nights: Nights) -> None:
    """A run of the revision before, that of the night, and the anchor."""
    members = running.rows(
        f"SELECT revision_id FROM branch_revision WHERE branch_id = {branch} ORDER BY ordinal"
    )
    series = [row["id"] for row in running.rows(f"SELECT id FROM series ORDER BY id LIMIT {SERIES}")]
    moved = nights.host[index]
    arms = [("base", index - 1, nights.base), ("head", index, nights.head)][index == 0 :]
    with running.service.transaction() as connection:
        run, environment = connection.execute(
            _RUN, {"night": index, "later": timedelta(days=index)}
        ).fetchone()
        for name, place, read in arms:
            revision = members[place]["revision_id"]
            (arm,) = connection.execute(
                "INSERT INTO arm (run_id, name, revision_id, label) VALUES (%s, %s, %s, '') RETURNING id",
                [run, name, revision],
            ).fetchone()
            replace_points(connection, arm, revision, environment, _points(series, moved + read[index]))
            at = running.clock.now() - timedelta(days=80) + place * timedelta(hours=16)
            connection.execute("UPDATE revision SET committed = %s WHERE id = %s", [at, revision])
        anchor = nights.anchors[index]
        if anchor is not None:
            replace_anchor_points(
                connection, run, _anchor(connection, anchor), _points(series, moved + nights.anchor[index])
            )


def _points(series: list[int], logs: Logs) -> list[tuple[int, int, float, None, None]]:
    return [(each, 5, float(np.exp(value)), None, None) for each, value in zip(series, logs, strict=True)]


def _anchor(connection: Any, name: str) -> int:
    commit = commit_of(name)
    connection.execute(
        "INSERT INTO revision (commit, parents) VALUES (%s, '{}') ON CONFLICT DO NOTHING", [commit]
    )
    (identity,) = connection.execute("SELECT id FROM revision WHERE commit = %s", [commit]).fetchone()
    return int(identity)


def watch(running: Running, branch: int) -> int:
    with running.service.transaction() as connection:
        return watch_branch(connection, branch, running.clock.now())


def digests(running: Running) -> list[str]:
    return [row["digest"] for row in running.rows(f"SELECT digest FROM series ORDER BY id LIMIT {SERIES}")]
