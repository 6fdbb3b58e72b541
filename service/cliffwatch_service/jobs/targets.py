"""Which platforms and modes hosts offer, and what becomes of a request for others: nobody would ever do it."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from psycopg import Connection

from cliffwatch_service.jobs.leases import AT_WORK
from cliffwatch_service.refusal import Refusal
from cliffwatch_service.store.work import hosts

Targets = Sequence[tuple[str, str]]
"""Platforms and modes."""


def refuse_unoffered(connection: Connection[Any], targets: Targets) -> None:
    """Raises Refusal where no host has ever offered to do one of these; one that is quiet at present may come back."""
    offered = hosts.offered_targets(connection)
    indexes = [index for index, target in enumerate(targets) if target not in offered]
    if not indexes:
        return
    there = ", ".join(map(_named, sorted(offered)))
    known = f"there are {there}" if there else "no host is enrolled yet: start `cliffwatch worker` on one"
    missing = ", ".join(_named(targets[index]) for index in indexes)
    raise Refusal(
        422,
        "no host for it",
        f"no enrolled host offers {missing}; {known}",
        errors=[(f"body.targets.{index}", f"no enrolled host offers {_named(targets[index])}") for index in indexes],
        offered=[{"platform": platform, "mode": mode} for platform, mode in sorted(offered)],
    )


def warnings(connection: Connection[Any], targets: Targets, now: datetime) -> list[str]:
    """What whoever asks should know: a target whose hosts are all quiet waits until one is back."""
    offered = hosts.offered_targets(connection)
    seen = [(target, offered[target]) for target in dict.fromkeys(targets) if target in offered]
    return [
        f"no host of {_named(target)} is online: one was last seen at {last:%Y-%m-%d %H:%M} UTC, and the job waits for it"
        for target, last in seen
        if now - last > AT_WORK
    ]


def _named(target: tuple[str, str]) -> str:
    return ":".join(target)
