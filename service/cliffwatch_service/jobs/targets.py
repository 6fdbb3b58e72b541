"""Checks requested platforms and modes against those that hosts offer: others would wait for ever."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg import Connection

from cliffwatch.failure import Failure, host_failed
from cliffwatch.formats.setup import NO_SETUP, Setup
from cliffwatch_service.jobs.leases import ONLINE_WITHIN
from cliffwatch_service.refusal import Refusal
from cliffwatch_service.store.work import hosts
from cliffwatch_service.store.work.hosts import OfferedTargetRow

Targets = Sequence[tuple[str, str]]
"""Platforms and modes."""

Offered = Mapping[tuple[str, str], datetime]
"""By platform and mode: when a host that offers them was last seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """What a job needs of its host besides platform and mode."""

    setup: Setup = NO_SETUP
    cpus: int = 0
    """CPUs of its largest guest; 0 if no case asks for a number."""

    def unmet(self, host: OfferedTargetRow) -> Failure | None:
        """Returns what the hosts of a target lack if they are like this one; None if it can do the job.

        CPUs matter in walltime only: under icount the CPUs of a guest take turns on one CPU of the host.
        """
        image = self.setup.build_image
        hosts_of_it = f"no host of {host.platform}:{host.mode}"
        if self.setup != NO_SETUP and not host.setups:
            return host_failed(
                f"{hosts_of_it} takes arms, shapes and suites of a request",
                "its `cliffwatch worker` is too old, update it",
            )
        if image is not None and image not in host.build_images:
            there = ", ".join(host.build_images) or "none"
            return host_failed(
                hosts_of_it + f" builds in {image} (there: {there})",
                f"`cliffwatch worker --build-image {image}` allows it",
            )
        if host.mode == "walltime" and host.cpus is not None and self.cpus > host.cpus:
            return host_failed(
                f"{hosts_of_it} has {self.cpus} CPUs for the largest guest (there: {host.cpus})",
                "ask for a smaller guest",
            )
        return None


NO_NEEDS = Needs()


def load_offered_targets(connection: Connection[Any]) -> Offered:
    """Returns every platform and mode that a host has ever offered."""
    seen: dict[tuple[str, str], datetime] = {}
    for row in hosts.offered_targets(connection):
        target = (row.platform, row.mode)
        seen[target] = max(row.last_seen, seen.get(target, row.last_seen))
    return seen


def platforms_seen(connection: Connection[Any], mode: str, needs: Needs, since: datetime) -> set[str]:
    """Returns the platforms with a host that offers this mode, meets the needs and was seen since `since`."""
    rows = [row for row in hosts.offered_targets(connection) if row.mode == mode and row.last_seen >= since]
    return {row.platform for row in rows if needs.unmet(row) is None}


def refuse_unoffered(connection: Connection[Any], targets: Targets, needs: Needs = NO_NEEDS) -> None:
    """Raises Refusal if no host was ever able to do one of the targets.

    An offline host counts: it may come back.
    """
    rows = hosts.offered_targets(connection)
    there = sorted({(row.platform, row.mode) for row in rows})
    unmet = {
        index: failure
        for index, target in enumerate(targets)
        if target in there and (failure := _unmet(rows, target, needs)) is not None
    }
    absent = [index for index, target in enumerate(targets) if target not in there]
    if not unmet and not absent:
        return
    failures = {**{index: _refuse_absent([targets[index]], there) for index in absent}, **unmet}
    together = [_refuse_absent([targets[index] for index in absent], there)] if absent else []
    raise Refusal(
        422,
        "no host for it",
        "; ".join(map(str, [*together, *unmet.values()])),
        errors=[(f"body.targets.{index}", str(failure)) for index, failure in sorted(failures.items())],
        offered=[{"platform": platform, "mode": mode} for platform, mode in there],
    )


def _unmet(rows: Sequence[OfferedTargetRow], target: tuple[str, str], needs: Needs) -> Failure | None:
    """Returns what the last host of a target lacks; None if any host can do the job."""
    unmet = [needs.unmet(row) for row in rows if (row.platform, row.mode) == target]
    return None if None in unmet else unmet[-1]


def _refuse_absent(targets: Targets, there: Targets) -> Failure:
    known = f"there are {', '.join(map(_format_target, there))}" if there else _NO_HOST
    return host_failed(f"no enrolled host offers {', '.join(map(_format_target, targets))}", known)


_NO_HOST = "no host is enrolled yet, start `cliffwatch worker` on one"


def warn_of_offline_targets(connection: Connection[Any], targets: Targets, now: datetime) -> list[str]:
    """Returns a warning for each target whose hosts are all offline: its job waits until a host is back."""
    there = load_offered_targets(connection)
    seen = [(target, there[target]) for target in dict.fromkeys(targets) if target in there]
    return [
        f"no host of {_format_target(target)} is online:"
        f" one was last seen at {last:%Y-%m-%d %H:%M} UTC, and the job waits for it"
        for target, last in seen
        if now - last > ONLINE_WITHIN
    ]


def _format_target(target: tuple[str, str]) -> str:
    return ":".join(target)
