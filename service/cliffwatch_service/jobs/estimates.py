"""Estimates when a job will be done, from the durations of finished jobs of its platform and mode."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg import Connection

from cliffwatch_service.jobs.leases import ONLINE_WITHIN
from cliffwatch_service.jobs.quarantine import QUARANTINED
from cliffwatch_service.store.work import hosts, queue
from cliffwatch_service.store.work.queue import JobRow

FEWEST_FINISHED_JOBS = 3
"""Fewest finished jobs of a platform and mode that an estimate needs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """When a waiting or running job will end, with the interval that holds half of such jobs."""

    position: int
    """Place in the platform's queue, from 1; 0 for a job under way."""
    hosts: int
    """Hosts of the platform at work that take jobs of the mode. One that has such a job counts, however long
    ago it was seen.
    """
    seconds: float | None
    """Seconds until the job ends; None if too few such jobs are finished, or if it waits and no host
    works."""
    low: float | None
    """Lower quartile of `seconds`, or None."""
    high: float | None
    """Upper quartile of `seconds`, or None."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """When a job that is requested now will end."""

    ahead: int
    """Jobs of its platform that wait before it."""
    hosts: int
    """Hosts of the platform at work that take jobs of the mode."""
    seconds: float | None
    """Seconds until it ends. None if too few such jobs are finished, or if no host works."""


def estimate_waits(
    connection: Connection[Any], targets: Sequence[tuple[str, str]], now: datetime
) -> dict[tuple[str, str], Wait]:
    """Returns the wait of a new job for each platform and mode.

    The job is assumed to be last in the queue; a person's job starts sooner.
    """
    jobs = queue.queue_of(connection, 1000)
    expected = estimate_jobs(connection, jobs, now)
    waits = {}
    for platform, mode in targets:
        own = [expected[job.id] for job in jobs if job.platform == platform]
        lengths = queue.durations(connection, platform, mode)
        of_mode = [expected[job.id].hosts for job in jobs if (job.platform, job.mode) == (platform, mode)]
        working = max([_hosts_at_work(connection, platform, mode, now), *of_mode])
        before = [each.seconds for each in own]
        known = len(lengths) >= FEWEST_FINISHED_JOBS and None not in before and working > 0
        last = (
            max((each for each in before if each is not None), default=0.0) if len(before) >= working else 0.0
        )
        waits[platform, mode] = Wait(
            ahead=sum(each.position > 0 for each in own),
            hosts=working,
            seconds=last + statistics.median(lengths) if known else None,
        )
    return waits


def estimate_jobs(connection: Connection[Any], jobs: Sequence[JobRow], now: datetime) -> dict[UUID, Estimate]:
    """Returns an estimate for each job, by job id. `jobs` are all waiting and running jobs in queue order."""
    lengths: dict[tuple[str, str], list[float]] = {}
    working: dict[tuple[str, str], int] = {}
    waiting: dict[str, int] = {}
    ahead: dict[str, list[float | None]] = {}
    by_job = {}
    holders: dict[tuple[str, str], set[str]] = {}
    for job in jobs:
        if job.state == "leased" and job.host is not None:
            holders.setdefault((job.platform, job.mode), set()).add(job.host)
    for job in jobs:
        target, platform = (job.platform, job.mode), job.platform
        if target not in lengths:
            lengths[target] = queue.durations(connection, *target)
            heard_of = _hosts_at_work(connection, *target, now)
            working[target] = max(heard_of, len(holders.get(target, ())))
        under_way = job.state == "leased"
        waiting[platform] = waiting.get(platform, 0) + (not under_way)
        done = (now - job.started).total_seconds() if under_way and job.started else 0.0
        before = ahead.setdefault(platform, [])
        by_job[job.id] = _estimate_job(
            lengths[target], working[target], 0 if under_way else waiting[platform], done, before
        )
        before.append(_remaining_seconds(lengths[target], done))
    return by_job


def _hosts_at_work(connection: Connection[Any], platform: str, mode: str, now: datetime) -> int:
    """Returns the number of online hosts that take jobs of this platform and mode."""
    return hosts.hosts_at_work(
        connection, platform, mode, now - ONLINE_WITHIN, quarantined=mode != QUARANTINED
    )


def _estimate_job(
    lengths: Sequence[float], hosts: int, position: int, done: float, ahead: Sequence[float | None]
) -> Estimate:
    own = _remaining_seconds(lengths, done)
    unknown = position and (not hosts or any(each is None for each in ahead))
    if own is None or unknown:
        return Estimate(position=position, hosts=hosts, seconds=None, low=None, high=None)
    low, _, high = statistics.quantiles(lengths, n=4)
    middle = statistics.median(lengths)
    wait = sum(each for each in ahead if each is not None) / hosts if position else 0.0
    total = wait + own
    return Estimate(
        position=position, hosts=hosts, seconds=total, low=total * low / middle, high=total * high / middle
    )


def _remaining_seconds(lengths: Sequence[float], done: float) -> float | None:
    if len(lengths) < FEWEST_FINISHED_JOBS:
        return None
    return max(0.0, statistics.median(lengths) - done)
