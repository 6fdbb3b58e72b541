"""Alarms about missing results: platforms that measure nothing, and offline hosts."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta

from cliffwatch.counting import count_noun
from cliffwatch_service.ingest.free_form import make_showable
from cliffwatch_service.jobs.leases import ONLINE_WITHIN
from cliffwatch_service.jobs.staleness import StaleTarget
from cliffwatch_service.store.follows import FollowRow
from cliffwatch_service.store.overview import TargetStatusRow
from cliffwatch_service.store.work.hosts import HostAtWorkRow

STALE = timedelta(days=2)
"""A followed platform without a new result for longer than this raises an alarm."""


def alarms(
    targets: Sequence[TargetStatusRow],
    entries: Sequence[FollowRow],
    now: datetime,
    stale: Sequence[StaleTarget] = (),
) -> list[str]:
    """Returns a sentence for each reason why a platform gets no new results.

    Old results raise an alarm only on platforms of followed branches. If such a platform measures nothing at
    all, its `stale` cases get no sentence of their own.
    """
    followed = {(target[0], target[1]) for row in entries for target in row.targets}
    sentences, silent = [], set()
    for each in targets:
        name = f"{each.platform} ({each.mode})"
        newest = each.newest_of_history
        offline = each.seen is None or now - each.seen > ONLINE_WITHIN
        if each.waiting and offline and not each.running:
            sentences.append(
                f"{name}: {count_noun(each.waiting, 'job waits', 'jobs wait')}"
                " and no host of this platform is online"
            )
        elif (each.platform, each.mode) in followed and newest and now - newest > STALE:
            silent.add((each.platform, each.mode))
            sentences.append(f"{name}: nothing was measured for {count_noun((now - newest).days, 'day')}")
    known = {(each.platform, each.mode) for each in targets if each.newest_of_history or each.waiting}
    sentences += [
        f"{platform} ({mode}): followed, and never measured" for platform, mode in sorted(followed - known)
    ]
    sentences += [each.sentence(now) for each in stale if (each.platform, each.mode) not in silent]
    return sentences


def alarms_of_hosts(hosts: Sequence[HostAtWorkRow]) -> list[str]:
    """Returns a sentence for each host that takes no job of a mode: in quarantine, or unfit."""
    sentences = []
    for host in hosts:
        if host.quarantined_since is not None:
            sentences.append(
                f"{host.name} ({host.platform}) has been in quarantine since"
                f" {host.quarantined_since:%Y-%m-%d %H:%M} UTC: {host.quarantine_reason}"
            )
        sentences += [
            f"{host.name} ({host.platform}) takes no {mode} job: {str(reason)[:300]}"
            for mode, reason in sorted(make_showable(host.unfit).items())
        ]
    return sentences


def online_hosts(hosts: Sequence[HostAtWorkRow], now: datetime) -> Counter[str]:
    """Counts the hosts of each platform that offer to work and are online; 0 for a platform without any."""
    counts = Counter[str]()
    for host in hosts:
        if host.about.get("modes"):
            counts[host.platform] += bool(host.job) or now - host.last_seen <= ONLINE_WITHIN
    return counts


def offline_hosts(hosts: Sequence[HostAtWorkRow], now: datetime) -> list[HostAtWorkRow]:
    """Returns the offline hosts that once offered to work and hold no job.

    Hosts that only upload are not expected to be online.
    """
    return [
        host
        for host in hosts
        if host.about.get("modes") and not host.job and now - host.last_seen > ONLINE_WITHIN
    ]
