"""Fleet: what waits, how long it takes, what fails, how noisy hosts are, what is stale."""

from builders import choices
from builders.parts import (
    INTERVAL_COLOUR,
    NONE_IS_GOOD,
    ON_HARDWARE,
    CliffwatchDashboard,
    dashed,
    lines,
    stat,
    table,
)

_JOBS = "FROM dashboard.job WHERE platform = ANY (ARRAY[$platform]::text[])"
_PERCENTILES = ", ".join(
    f"percentile_cont({share}) WITHIN GROUP (ORDER BY {{column}}) AS {name}"
    for share, name in ((0.5, "median"), (0.95, "p95"))
)


def fleet() -> CliffwatchDashboard:
    answers = (
        "Whether hosts work: what waits, how long jobs take, which hosts fail or are offline, how noisy they"
        " are, what is stale."
    )
    shown = CliffwatchDashboard("fleet", "Cliffwatch: fleet", answers, days=7)
    shown.with_variable(choices.platforms())
    return shown.show(*_now(), *_time(), *_failures(), *_noise())


def _now() -> tuple[object, ...]:
    shown = (
        stat(
            "Jobs that wait",
            "In the queue of these platforms.",
            f"SELECT count(*) AS jobs {_JOBS} AND state = 'queued'",
            "short",
        ),
        stat(
            "Longest wait",
            "Of the jobs that wait now, since they were asked for.",
            f"SELECT coalesce(max(extract(epoch FROM now() - created)), 0)::float8 AS seconds {_JOBS} AND"
            " state = 'queued'",
            "s",
            ((None, "green"), (14400, "orange"), (86400, "red")),
        ),
        stat(
            "Hosts offline",
            "Hosts that offered to work, hold no job and were not seen for ten minutes.",
            "SELECT count(*) AS hosts FROM dashboard.host WHERE offline AND platform = ANY"
            " (ARRAY[$platform]::text[])",
            "short",
            NONE_IS_GOOD,
        ),
        stat(
            "Hosts in quarantine",
            "Hosts whose control moved: they take no walltime job until an operator ends it.",
            "SELECT count(*) AS hosts FROM dashboard.host WHERE quarantined_since IS NOT NULL AND platform = ANY"
            " (ARRAY[$platform]::text[])",
            "short",
            NONE_IS_GOOD,
        ),
        stat(
            "Parked jobs",
            "Jobs that two hosts failed at, or whose hosts went offline five times: an administrator has to"
            " look.",
            f"SELECT count(*) AS jobs {_JOBS} AND state = 'parked'",
            "short",
            NONE_IS_GOOD,
        ),
    )
    return tuple(each.span(wide) for each, wide in zip(shown, (5, 5, 5, 5, 4), strict=True))


def _time() -> tuple[object, ...]:
    def over_time(title: str, description: str, column: str) -> object:
        query = f"""
SELECT $__timeGroupAlias(created, $__interval), {_PERCENTILES.format(column=column)}
{_JOBS} AND $__timeFilter(created) AND {column} IS NOT NULL GROUP BY 1 ORDER BY 1"""
        return lines(title, description, query, "s", least="6h")

    return (
        over_time(
            "Wait",
            "From request to the first lease, of jobs of the chosen platforms asked for at that time.",
            "waited_seconds",
        ),
        over_time(
            "Duration",
            "From the first lease to the end, of jobs of the chosen platforms asked for at that time.",
            "took_seconds",
        ),
        table(
            "Queue",
            "What waits and what runs, in the order in which each platform takes it.",
            "SELECT platform, mode, state, job, base, head, profile, created, started"
            f" {_JOBS} AND state IN ('queued', 'leased') ORDER BY platform, state = 'queued', due LIMIT 200",
            links={"job": ("Job", "${site}/jobs/${__value.raw}")},
        ),
    )


def _failures() -> tuple[object, ...]:
    leases = "FROM dashboard.lease WHERE platform = ANY (ARRAY[$platform]::text[]) AND $__timeFilter(granted)"
    return (
        lines(
            "How jobs ended",
            "Jobs by state and by the time they were asked for: failed is the kernel's fault, parked the"
            " hosts'.",
            f"SELECT $__timeGroupAlias(created, $__interval), state AS metric, count(*) AS jobs {_JOBS} AND"
            " $__timeFilter(created) GROUP BY 1, 2 ORDER BY 1",
            "short",
            bars=True,
            least="6h",
            colours={
                "done": "green",
                "failed": "red",
                "parked": "orange",
                "cancelled": INTERVAL_COLOUR,
                "leased": "purple",
                "queued": "blue",
            },
        ),
        lines(
            "Failed leases by host",
            "Leases that ended as host-failed or expired: the host broke, or went offline in a job.",
            f"SELECT $__timeGroupAlias(granted, $__interval), host AS metric, count(*) AS leases {leases}"
            " AND outcome IN ('host-failed', 'expired') GROUP BY 1, 2 ORDER BY 1",
            "short",
            bars=True,
            least="6h",
        ),
        table(
            "Hosts",
            "Every host, with its leases in this time. Offline: offered to work, holds no job, not seen for"
            " ten minutes.",
            "SELECT host.host, host.platform, modes, last_seen, offline, quarantined_since, quarantine_reason, busy_since, coalesce(leases, 0) AS"
            " leases, coalesce(failed, 0) AS failed, job FROM dashboard.host LEFT JOIN (SELECT host,"
            " count(*) AS leases, count(*) FILTER (WHERE outcome IN ('host-failed', 'expired')) AS failed"
            f" {leases} GROUP BY host) AS held USING (host) WHERE host.platform = ANY"
            " (ARRAY[$platform]::text[]) ORDER BY offline DESC, host",
            links={"host": ("Hosts", "${site}/hosts")},
            steps={"failed": NONE_IS_GOOD},
        ),
    )


def _noise() -> tuple[object, ...]:
    return (
        lines(
            "Noise of hosts",
            "base vs base check: the largest difference of base to itself in each walltime run, by host. What rises"
            " here drowns small changes; the dashed threshold of reports is 1 % unless a run says otherwise.",
            "SELECT made AS time, coalesce(host, platform) AS metric, largest FROM dashboard.control"
            f" WHERE {ON_HARDWARE} AND platform = ANY (ARRAY[$platform]::text[]) AND $__timeFilter(made) ORDER BY"
            " made",
            "percentunit",
            steps=((None, "green"), (0.01, "red")),
            wide=24,
        )
        .axis_soft_min(0)
        .axis_soft_max(0.011)
        .thresholds_style(dashed()),
        table(
            "Staleness",
            "When each followed or measured target got its last run of history, and since how many hours none"
            " came.",
            "SELECT platform, mode, newest, (extract(epoch FROM now() - newest) / 3600)::float8 AS hours,"
            " waiting, running, seen, followed FROM dashboard.target WHERE platform = ANY"
            " (ARRAY[$platform]::text[]) AND (followed OR newest IS NOT NULL) ORDER BY newest NULLS FIRST",
            links={"platform": ("Queue", "${site}/queue")},
            units={"hours": "h"},
            steps={"hours": ((None, "green"), (24, "orange"), (48, "red"))},
            wide=24,
        ),
    )
