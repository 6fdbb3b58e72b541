"""When the cases of a branch were last measured for history, and how often they usually are."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from psycopg import Connection

from cliffwatch.samples import CaseKey
from cliffwatch_service.postgres.rows import row_cursor


@dataclass(frozen=True, slots=True, kw_only=True)
class LastMeasuredRow:
    """A case of a followed branch on a platform in a mode."""

    follow_id: int
    tree: str
    branch: str
    platform: str
    mode: str
    suite: str
    case: str
    at: datetime
    """When its newest point came."""
    gap: timedelta | None
    """Its cadence; None until it is known."""
    moved: bool
    """Whether the branch has newer commits."""


_KEEP = """
INSERT INTO last_measured (branch_id, case_id, platform, mode, at, ordinal)
SELECT branch_id, case_id, run.platform, run.mode, %(now)s, max(ordinal)
FROM run JOIN arm ON run_id = run.id
JOIN branch_revision USING (revision_id)
CROSS JOIN LATERAL (SELECT DISTINCT columns_id FROM boot WHERE arm_id = arm.id) AS measured
JOIN columns ON columns.id = columns_id CROSS JOIN unnest(columns.series) AS of_series
JOIN series ON series.id = of_series
WHERE run.digest = %(run)s AND of_history
GROUP BY 1, 2, 3, 4
"""

_KEEP_UNCHANGED = """
INSERT INTO last_measured (branch_id, case_id, platform, mode, at, ordinal)
SELECT branch_id, benchmark_case.id, run.platform, run.mode, %(now)s, max(ordinal)
FROM run JOIN arm ON run_id = run.id
JOIN branch_revision USING (revision_id)
JOIN benchmark_case ON (benchmark_case.suite, benchmark_case.name)
    IN (SELECT * FROM unnest(%(suites)s::text[], %(names)s::text[]))
WHERE run.digest = %(run)s AND of_history
GROUP BY 1, 2, 3, 4
"""

_KNOWN = """
ON CONFLICT (branch_id, platform, mode, case_id) DO UPDATE SET
    at = excluded.at, ordinal = greatest(last_measured.ordinal, excluded.ordinal),
    gap = CASE WHEN excluded.at - last_measured.at < %(together)s THEN last_measured.gap
               WHEN last_measured.gap IS NULL THEN excluded.at - last_measured.at
               ELSE 0.7 * last_measured.gap + 0.3 * (excluded.at - last_measured.at) END
"""


def keep_measured(connection: Connection[Any], run: str, together: timedelta, now: datetime) -> None:
    """Records that the cases of a run of history were measured.

    Measurements within `together` count as one for the cadence.
    """
    connection.execute(_KEEP + _KNOWN, {"run": run, "together": together, "now": now})


def keep_unchanged(
    connection: Connection[Any], run: str, cases: Sequence[CaseKey], together: timedelta, now: datetime
) -> None:
    """Records cases that a run did not measure, because nothing that they execute differs.

    They owe no point.
    """
    suites, names = [case.suite for case in cases], [str(case) for case in cases]
    given = {"run": run, "suites": suites, "names": names, "together": together, "now": now}
    connection.execute(_KEEP_UNCHANGED + _KNOWN, given)


_LAST = """
WITH followed AS MATERIALIZED (
    SELECT follow.id, branch_id, tree.url AS tree, branch.name AS branch, suites, targets,
           (SELECT max(ordinal) FROM branch_revision WHERE branch_id = follow.branch_id) AS tip
    FROM follow JOIN branch ON branch.id = branch_id JOIN tree ON tree.id = tree_id
)
SELECT followed.id AS follow_id, tree, branch, platform, mode, suite, benchmark_case.name AS case, at, gap,
    ordinal < tip AS moved
FROM followed JOIN last_measured USING (branch_id) JOIN benchmark_case ON benchmark_case.id = case_id
WHERE (suite = ANY(suites) OR 'all' = ANY(suites))
    AND targets @> jsonb_build_array(jsonb_build_array(platform, mode))
  AND at < %(before)s
ORDER BY followed.id, platform, mode, suite, benchmark_case.name
"""


def last_measured(connection: Connection[Any], before: datetime) -> list[LastMeasuredRow]:
    """Returns the cases of followed branches whose newest point came before a time."""
    return row_cursor(connection, LastMeasuredRow).execute(_LAST, {"before": before}).fetchall()
