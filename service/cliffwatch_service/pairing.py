"""Which measurements answer the question how two revisions compare."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg import Connection

from cliffwatch_service.comparing import keep_compared
from cliffwatch_service.naming import revision_named
from cliffwatch_service.refusal import Refusal
from cliffwatch_service.store import comparisons, runs, trees

NEAREST = "nearest"
"""In place of a base: the nearest measured first-parent ancestor of head, on each platform and mode by itself."""

_one_at_a_time = threading.Lock()
"""A comparison that nobody asked for before takes seconds of one CPU; several at once would hold up everything else."""


@dataclass(frozen=True, slots=True)
class Target:
    """One platform and mode, and the base that answers there: `distance` commits before head where it was looked for."""

    platform: str
    mode: str
    base: Mapping[str, Any]
    distance: int | None


@dataclass(frozen=True, slots=True)
class Answer:
    """A comparison that answers on a target, without its rows, and which run or runs it is of."""

    target: Target
    comparison: Mapping[str, Any]
    runs: tuple[str, ...]


def answers(
    connection: Connection[Any],
    base: str,
    head: str,
    platform: str | None,
    mode: str | None,
    now: datetime,
) -> tuple[Mapping[str, Any], list[Answer]]:
    """Head's revision, and the comparison on each platform and mode that has both. Raises Refusal where none has."""
    head_row = revision_named(connection, head)
    targets = [
        target
        for target in runs.targets_of(connection, head_row["id"])
        if platform in (None, target[0]) and mode in (None, target[1])
    ]
    if not targets:
        where = f" on {platform}" if platform else ""
        raise Refusal(404, "not measured", f"revision {head_row['commit'][:12]} was not measured{where}: request it")
    base_row = None if base == NEAREST else revision_named(connection, base)
    found = [_answer(connection, _target(connection, base_row, head_row, *target), head_row, now) for target in targets]
    told = [each for each in found if each is not None]
    if not told:
        raise Refusal(404, "not measured", _lacking(base_row, head_row))
    return head_row, told


def _lacking(base: Mapping[str, Any] | None, head: Mapping[str, Any]) -> str:
    if base is None:
        return f"no first-parent ancestor of {head['commit'][:12]} was measured where it was: request both together"
    return (
        f"{base['commit'][:12]} was not measured on any platform and mode where {head['commit'][:12]} was: request both"
        f" together, or compare with `{NEAREST}`"
    )


def _target(
    connection: Connection[Any], base: Mapping[str, Any] | None, head: Mapping[str, Any], platform: str, mode: str
) -> Target | None:
    if base is not None:
        return Target(platform, mode, base, None)
    ancestor = trees.measured_ancestor(connection, head["id"], platform, mode)
    if ancestor is None:
        return None
    return Target(platform, mode, ancestor, ancestor["distance"])


def _answer(
    connection: Connection[Any], target: Target | None, head: Mapping[str, Any], now: datetime
) -> Answer | None:
    if target is None:
        return None
    base_id, head_id = target.base["id"], head["id"]
    shared = runs.shared_run(connection, base_id, head_id, target.platform, target.mode)
    if shared is not None:
        return _compared(connection, target, shared["base"], shared["head"], (shared["run"],), now)
    ours = runs.latest_arm(connection, base_id, target.platform, target.mode)
    theirs = runs.latest_arm(connection, head_id, target.platform, target.mode)
    if ours is None or theirs is None:
        return None
    return _compared(connection, target, ours["id"], theirs["id"], (ours["run"], theirs["run"]), now)


def _compared(
    connection: Connection[Any], target: Target, base: int, head: int, which: tuple[str, ...], now: datetime
) -> Answer:
    with _one_at_a_time:
        identity = keep_compared(connection, base, head, now)
    row = comparisons.comparison_by_id(connection, identity)
    assert row is not None
    return Answer(target, row, which)
