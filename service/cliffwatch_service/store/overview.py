"""Overviews for pages, each in few queries."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg import Connection

from cliffwatch_service.postgres.rows import row_cursor, tuple_cursor
from cliffwatch_service.store.series import SeriesRow


@dataclass(frozen=True, slots=True, kw_only=True)
class StripRow:
    """A revision of a branch, with its newest comparison on a platform in a mode.

    Only comparisons with an earlier revision of the branch count. Without one, all fields from `platform` on
    are None.
    """

    ordinal: int
    commit: str
    subject: str | None
    platform: str | None
    mode: str | None
    counts: dict[str, int] | None
    """Number of rows by verdict."""
    base: str | None
    """Commit of the earlier revision."""
    comparison: int | None
    """Its id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetStatusRow:
    """Measurements, jobs and hosts of a platform in a mode."""

    platform: str
    mode: str
    newest: datetime | None
    """When the newest run came."""
    newest_of_history: datetime | None
    """When the newest run of history came."""
    waiting: int
    """Number of queued jobs."""
    running: int
    """Number of jobs under way."""
    seen: datetime | None
    """When a host of the platform that works in this mode was last seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredBranchRow:
    """A branch on which a series has points."""

    id: int
    branch: str
    tree: str
    points: int
    """Number of revisions with a point."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceRow:
    """The place of a revision on a branch."""

    branch: str
    tree: str
    ordinal: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkRow:
    """The revision at which another revision's line leaves a branch."""

    ordinal: int
    commit: str
    distance: int
    """Commits between the two; 0 for a revision on the branch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PointAtRow:
    """A point of a series."""

    n: int
    centre: float
    low: float | None
    high: float | None
    epoch: str


_STRIP = """
SELECT member.ordinal, revision.commit, revision.subject, verdicts.platform, verdicts.mode, verdicts.counts,
    verdicts.base, verdicts.comparison
FROM (SELECT ordinal, revision_id FROM branch_revision WHERE branch_id = %(branch)s
    ORDER BY ordinal DESC LIMIT %(limit)s) AS member
JOIN revision ON revision.id = member.revision_id
LEFT JOIN LATERAL (
    SELECT DISTINCT ON (platform, mode) platform, mode, counts, base.commit AS base,
        comparison.id AS comparison
    FROM comparison
    JOIN branch_revision AS before ON before.branch_id = %(branch)s AND before.revision_id = base_revision_id
        AND before.ordinal < member.ordinal
    JOIN revision AS base ON base.id = base_revision_id
    WHERE head_revision_id = member.revision_id AND NOT EXISTS (
        SELECT FROM arm JOIN run ON run.id = run_id
        WHERE arm.id IN (base_arm_id, head_arm_id) AND NOT of_history
    )
    ORDER BY platform, mode, comparison.id DESC
) AS verdicts ON true
ORDER BY member.ordinal DESC, verdicts.platform, verdicts.mode
"""


def strip_of(connection: Connection[Any], branch_id: int, limit: int) -> list[StripRow]:
    """Returns a branch's newest revisions, newest first: one row per platform and mode.

    A revision that was not compared has one row, without a platform.
    """
    return row_cursor(connection, StripRow).execute(_STRIP, {"branch": branch_id, "limit": limit}).fetchall()


_MEASURED = """
SELECT platform, mode, newest, newest_of_history,
       (SELECT count(*) FROM job WHERE job.platform = target.platform AND job.mode = target.mode
           AND state = 'queued') AS waiting,
       (SELECT count(*) FROM job WHERE job.platform = target.platform AND job.mode = target.mode
           AND state = 'leased') AS running,
       (SELECT max(last_seen) FROM host WHERE host.platform = target.platform
            AND (NOT about ? 'modes' OR about -> 'modes' ? target.mode)) AS seen
FROM (
    SELECT platform, mode, max(received) AS newest,
        max(received) FILTER (WHERE of_history) AS newest_of_history
    FROM (SELECT platform, mode, received, of_history FROM run
          UNION ALL SELECT platform, mode, NULL, false FROM job WHERE state = 'queued') AS known
    GROUP BY 1, 2
) AS target ORDER BY 1, 2
"""


def list_targets(connection: Connection[Any]) -> list[TargetStatusRow]:
    """Returns every platform and mode that was measured or has queued jobs."""
    return row_cursor(connection, TargetStatusRow).execute(_MEASURED).fetchall()


def branches_measured(connection: Connection[Any], series_id: int) -> list[MeasuredBranchRow]:
    """Returns the branches on which a series has points, most points first, at most 20."""
    query = (
        "SELECT branch.id, branch.name AS branch, tree.url AS tree,"
        " count(DISTINCT point.revision_id) AS points"
        " FROM point JOIN arm ON arm.id = arm_id JOIN run ON run.id = run_id AND run.of_history"
        " JOIN branch_revision ON branch_revision.revision_id = point.revision_id"
        " JOIN branch ON branch.id = branch_id"
        " JOIN tree ON tree.id = tree_id WHERE series_id = %s GROUP BY 1, 2, 3 ORDER BY 4 DESC, 1 LIMIT 20"
    )
    return row_cursor(connection, MeasuredBranchRow).execute(query, [series_id]).fetchall()


def branches_of_revision(connection: Connection[Any], revision_id: int) -> list[PlaceRow]:
    query = (
        "SELECT branch.name AS branch, tree.url AS tree, ordinal FROM branch_revision"
        " JOIN branch ON branch.id = branch_id"
        " JOIN tree ON tree.id = tree_id WHERE revision_id = %s ORDER BY 2, 1"
    )
    return row_cursor(connection, PlaceRow).execute(query, [revision_id]).fetchall()


_FORK = """
WITH RECURSIVE line (id, parents, distance) AS (
    SELECT id, parents, 0 FROM revision WHERE id = %(head)s
  UNION ALL
    SELECT revision.id, revision.parents, distance + 1
    FROM line JOIN revision ON revision.commit = line.parents[1]
    WHERE distance < 200
)
SELECT ordinal, revision.commit, distance FROM line JOIN revision USING (id)
JOIN branch_revision ON revision_id = line.id AND branch_id = %(branch)s ORDER BY distance LIMIT 1
"""


def fork_of(connection: Connection[Any], branch_id: int, revision_id: int) -> ForkRow | None:
    """Returns where a revision's first-parent line leaves a branch; None if it never was on the branch."""
    return (
        row_cursor(connection, ForkRow).execute(_FORK, {"head": revision_id, "branch": branch_id}).fetchone()
    )


def point_at(connection: Connection[Any], series_id: int, revision_id: int) -> PointAtRow | None:
    """Returns the newest point of a series at a revision."""
    query = (
        "SELECT n, centre, low, high, epoch FROM point JOIN environment ON environment.id = environment_id"
        " WHERE series_id = %s AND revision_id = %s ORDER BY arm_id DESC LIMIT 1"
    )
    return row_cursor(connection, PointAtRow).execute(query, [series_id, revision_id]).fetchone()


_SHOWN = "suite || '/' || name || ' ' || metric || ' in ' || unit || ' on ' || platform || ' ' || mode"
"""SQL for all words of a series' title; `name` has its benchmark and parameters."""

_NATURAL = (
    r"regexp_replace(regexp_replace(name, '(\d+)', repeat('0', 20) || '\1', 'g'), '\d*(\d{20})', '\1', 'g')"
)
"""SQL for a case's name that sorts numbers by value: 2 before 16."""

_SERIES_OF_CASE = f"""
SELECT series.id, series.digest, suite, benchmark, params, metric, unit, platform, mode
FROM series JOIN benchmark_case ON case_id = benchmark_case.id
WHERE NOT EXISTS (SELECT FROM unnest(%(words)s::text[]) AS word WHERE strpos(lower({_SHOWN}), word) = 0)
  AND (%(platform)s = '' OR platform = %(platform)s)
ORDER BY suite, {_NATURAL}, metric, platform, mode, series.id LIMIT %(limit)s OFFSET %(skip)s
"""  # noqa: S608 - of constants


def series_of_case(
    connection: Connection[Any], words: Sequence[str], platform: str, *, skip: int, limit: int
) -> list[SeriesRow]:
    """Returns series whose title holds all of `words`, which are in lower case.

    Sorted by suite, case, metric, platform and mode. An empty `platform` leaves the platform open.
    """
    wanted = {"words": list(words), "platform": platform, "skip": skip, "limit": limit}
    return tuple_cursor(connection, SeriesRow._make).execute(_SERIES_OF_CASE, wanted).fetchall()


_OF_PLATFORMS = """
SELECT series.id, series.digest, suite, benchmark, params, series.metric, series.unit, series.platform,
    series.mode
FROM series AS own JOIN series USING (case_id, metric, unit)
JOIN benchmark_case ON benchmark_case.id = case_id
WHERE own.id = %(series)s ORDER BY series.platform, series.mode LIMIT %(limit)s
"""


def series_of_platforms(connection: Connection[Any], row: SeriesRow, limit: int) -> list[SeriesRow]:
    """Returns the series of the same case and metric on every platform, in every mode."""
    wanted = {"series": row.id, "limit": limit}
    return tuple_cursor(connection, SeriesRow._make).execute(_OF_PLATFORMS, wanted).fetchall()


_OF_BENCHMARK = f"""
SELECT series.id, series.digest, suite, benchmark, params, metric, unit, platform, mode
FROM benchmark_case JOIN series ON case_id = benchmark_case.id
WHERE suite = %(suite)s AND benchmark = %(benchmark)s AND metric = %(metric)s AND unit = %(unit)s
    AND platform = %(platform)s AND mode = %(mode)s
ORDER BY {_NATURAL} LIMIT %(limit)s
"""  # noqa: S608 - of constants


def series_of_benchmark(connection: Connection[Any], row: SeriesRow, limit: int) -> list[SeriesRow]:
    """Returns the series of a benchmark's cases in the same metric, on the same platform and in its mode."""
    wanted = {
        "suite": row.suite,
        "benchmark": row.benchmark,
        "metric": row.metric,
        "unit": row.unit,
        "platform": row.platform,
        "mode": row.mode,
        "limit": limit,
    }
    return tuple_cursor(connection, SeriesRow._make).execute(_OF_BENCHMARK, wanted).fetchall()
