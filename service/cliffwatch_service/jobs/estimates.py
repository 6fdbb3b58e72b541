"""When a job will be done, from how long such jobs took: an estimate with its spread, or none."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg import Connection

from cliffwatch_service.jobs.leases import AT_WORK
from cliffwatch_service.store.work import hosts, queue
from cliffwatch_service.store.work.queue import JobRow

LEAST = 3
"""Finished jobs of a platform and mode from which on anything is expected of the next one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """`position` counts from 1 in the platform's queue, 0 for a job under way. `seconds` to its end, half the time within
    `low` and `high`; None where too few such jobs are known or it waits and no host of the platform works. `hosts` are those
    that do: a host with a job works, however long ago it was seen.
    """

    position: int
    hosts: int
    seconds: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """For a job that is asked for now: how many of its platform wait before it, how many hosts work, and the `seconds` to its end, None
    where too few such jobs are known or no host works.
    """

    ahead: int
    hosts: int
    seconds: float | None


def waits_of(
    connection: Connection[Any], targets: Sequence[tuple[str, str]], now: datetime
) -> dict[tuple[str, str], Wait]:
    """By platform and mode. A job of now comes last, a person's sooner than that."""
    jobs = queue.queue_of(connection, 1000)
    expected = expectations(connection, jobs, now)
    waits = {}
    for platform, mode in targets:
        own = [expected[job.id] for job in jobs if job.platform == platform]
        lengths = queue.durations(connection, platform, mode)
        working = max(
            [hosts.hosts_at_work(connection, platform, now - AT_WORK), *(each.hosts for each in own)]
        )
        before = [each.seconds for each in own]
        known = len(lengths) >= LEAST and None not in before and working > 0
        last = (
            max((each for each in before if each is not None), default=0.0) if len(before) >= working else 0.0
        )
        waits[platform, mode] = Wait(
            ahead=sum(each.position > 0 for each in own),
            hosts=working,
            seconds=last + statistics.median(lengths) if known else None,
        )
    return waits


def expectations(connection: Connection[Any], jobs: Sequence[JobRow], now: datetime) -> dict[UUID, Estimate]:
    """By job id, of all jobs that wait or run, in the order of the queue."""
    lengths: dict[tuple[str, str], list[float]] = {}
    working: dict[str, int] = {}
    waiting: dict[str, int] = {}
    ahead: dict[str, list[float | None]] = {}
    by_job = {}
    holders: dict[str, set[str]] = {}
    for job in jobs:
        if job.state == "leased" and job.host is not None:
            holders.setdefault(job.platform, set()).add(job.host)
    for job in jobs:
        target, platform = (job.platform, job.mode), job.platform
        if target not in lengths:
            lengths[target] = queue.durations(connection, *target)
        if platform not in working:
            heard_of = hosts.hosts_at_work(connection, platform, now - AT_WORK)
            working[platform] = max(heard_of, len(holders.get(platform, ())))
        under_way = job.state == "leased"
        waiting[platform] = waiting.get(platform, 0) + (not under_way)
        done = (now - job.started).total_seconds() if under_way and job.started else 0.0
        before = ahead.setdefault(platform, [])
        by_job[job.id] = _expected(
            lengths[target], working[platform], 0 if under_way else waiting[platform], done, before
        )
        before.append(_left(lengths[target], done))
    return by_job


def _expected(
    lengths: Sequence[float], hosts: int, position: int, done: float, ahead: Sequence[float | None]
) -> Estimate:
    own = _left(lengths, done)
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


def _left(lengths: Sequence[float], done: float) -> float | None:
    if len(lengths) < LEAST:
        return None
    return max(0.0, statistics.median(lengths) - done)
