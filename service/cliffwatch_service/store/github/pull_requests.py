"""Pull requests, and what was requested for their heads."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from psycopg import Connection
from psycopg.types.json import Jsonb

from cliffwatch_service.postgres.rows import fetch_single_row, pairs, row_cursor, values

PullRequestState = Literal["open", "closed"]
MeasurementState = Literal["asked", "superseded", "cancelled"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequestFacts:
    """A pull request as GitHub has it now, with what the policy says about it."""

    repository: int
    number: int
    state: PullRequestState
    head: str
    base: str
    targets: Sequence[tuple[str, str]]
    """Pairs of platform and mode."""
    fail_on: Sequence[str]
    series: int | None
    """The mailing list's series; None if it comes from no mailing list."""
    version: int | None
    """Version of the series."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequestRow:
    """A stored pull request."""

    id: int
    repository: str
    """OWNER/NAME."""
    installation_id: int
    reachable: bool
    """Whether the App still reaches the repository."""
    number: int
    state: PullRequestState
    head: str
    base: str
    waits: bool
    """Whether it waits for a maintainer."""
    approved_head: str | None
    problem: str | None
    targets: list[list[str]]
    """Pairs of platform and mode."""
    fail_on: list[str]
    series: int | None
    version: int | None
    declined: bool
    sequence: int
    shown: str | None
    """What was posted last, as digests."""
    checked_head: str | None
    """The head whose check run is still in progress."""
    posted: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasurementRow:
    """What was requested for a head."""

    id: int
    pull_head: str
    """The head at GitHub."""
    base_commit: str
    """The base that is built."""
    head_commit: str
    """The head that is built."""
    version: int | None
    key: str
    again: bool
    state: MeasurementState
    requests: list[UUID]


def keep_pull_request(connection: Connection[Any], facts: PullRequestFacts, now: datetime) -> int:
    """Stores a pull request and returns its id. Its row is locked until the end of the transaction."""
    kept = values(connection, int).execute(
        "INSERT INTO github_pull_request"
        " (repository_id, number, state, head, base, targets, fail_on, series, version, looked)"
        " VALUES (%(repository)s, %(number)s, %(state)s, %(head)s, %(base)s, %(targets)s, %(fail_on)s,"
        " %(series)s, %(version)s, %(now)s)"
        " ON CONFLICT (repository_id, number) DO UPDATE SET state = excluded.state, head = excluded.head,"
        " base = excluded.base, targets = excluded.targets, fail_on = excluded.fail_on,"
        " series = excluded.series, version = excluded.version, looked = excluded.looked,"
        " waits = false, problem = NULL RETURNING id",
        {
            **asdict(facts),
            "targets": Jsonb([list(target) for target in facts.targets]),
            "fail_on": list(facts.fail_on),
            "now": now,
        },
    )
    return fetch_single_row(kept)


_ROW = """
SELECT github_pull_request.id, github_repository.name AS repository, installation_id,
       github_repository.allowed AND github_installation.state = 'active' AS reachable, number,
       github_pull_request.state, head, base, waits, approved_head, problem, targets, fail_on, series,
       version, declined, sequence, shown, checked_head, posted
FROM github_pull_request JOIN github_repository ON github_repository.id = repository_id
JOIN github_installation ON github_installation.id = installation_id
"""


def pull_request_row(connection: Connection[Any], identity: int) -> PullRequestRow | None:
    query = _ROW + " WHERE github_pull_request.id = %s"
    return row_cursor(connection, PullRequestRow).execute(query, [identity]).fetchone()


def pull_request_numbered(connection: Connection[Any], repository: int, number: int) -> PullRequestRow | None:
    query = _ROW + " WHERE repository_id = %s AND number = %s"
    return row_cursor(connection, PullRequestRow).execute(query, [repository, number]).fetchone()


def set_waits(connection: Connection[Any], identity: int) -> None:
    connection.execute("UPDATE github_pull_request SET waits = true WHERE id = %s", [identity])


def approve_head(connection: Connection[Any], identity: int, head: str) -> None:
    connection.execute(
        "UPDATE github_pull_request SET approved_head = %s, waits = false WHERE id = %s", [head, identity]
    )


def set_problem(connection: Connection[Any], identity: int, problem: str | None) -> None:
    connection.execute("UPDATE github_pull_request SET problem = %s WHERE id = %s", [problem, identity])


def set_declined(connection: Connection[Any], identity: int) -> None:
    connection.execute("UPDATE github_pull_request SET declined = true WHERE id = %s", [identity])


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMeasurement:
    """A measurement to store."""

    pull_request: int
    pull_head: str
    """The head at GitHub."""
    base: str
    """The base that is built."""
    head: str
    """The head that is built."""
    version: int | None
    key: str
    again: bool


def keep_measurement(connection: Connection[Any], row: NewMeasurement, now: datetime) -> int | None:
    """Returns the id; None if this was requested before."""
    inserted = values(connection, int).execute(
        "INSERT INTO github_measurement (pull_request_id, pull_head, base_commit, head_commit, version,"
        " key, again,"
        " created) VALUES (%s, %s, %s, %s, %s, %s, %s, %s) ON CONFLICT (pull_request_id, key) DO NOTHING"
        " RETURNING id",
        [row.pull_request, row.pull_head, row.base, row.head, row.version, row.key, row.again, now],
    )
    return inserted.fetchone()


def add_request(connection: Connection[Any], measurement: int, request: UUID) -> None:
    connection.execute(
        "INSERT INTO github_measurement_request (measurement_id, request_id) VALUES (%s, %s)"
        " ON CONFLICT DO NOTHING",
        [measurement, request],
    )


def set_measurements(connection: Connection[Any], numbers: Sequence[int], state: MeasurementState) -> None:
    connection.execute("UPDATE github_measurement SET state = %s WHERE id = ANY(%s)", [state, list(numbers)])


_MEASUREMENTS = """
SELECT id, pull_head, base_commit, head_commit, version, key, again, state,
       ARRAY(SELECT request_id FROM github_measurement_request WHERE measurement_id = github_measurement.id
           ORDER BY request_id) AS requests
FROM github_measurement WHERE pull_request_id = %s ORDER BY id DESC
"""


def measurements_of(connection: Connection[Any], pull_request: int) -> list[MeasurementRow]:
    """Returns the measurements of a pull request, newest first, with the ids of their requests."""
    return row_cursor(connection, MeasurementRow).execute(_MEASUREMENTS, [pull_request]).fetchall()


def jobs_of_measurement(connection: Connection[Any], measurement: int) -> list[UUID]:
    query = (
        "SELECT job.id FROM job JOIN github_measurement_request USING (request_id)"
        " WHERE measurement_id = %s ORDER BY 1"
    )
    return values(connection, UUID).execute(query, [measurement]).fetchall()


def pull_requests_of_run(connection: Connection[Any], run: str) -> list[int]:
    """Returns the pull requests for which a run was made. `run` is its digest."""
    query = (
        "SELECT DISTINCT pull_request_id FROM run JOIN lease ON lease.id = run.lease_id"
        " JOIN job ON job.id = lease.job_id"
        " JOIN github_measurement_request USING (request_id)"
        " JOIN github_measurement ON github_measurement.id = measurement_id"
        " WHERE run.digest = %s"
    )
    return values(connection, int).execute(query, [run]).fetchall()


_MOVING = """
SELECT github_pull_request.id FROM github_pull_request
WHERE EXISTS (
    SELECT FROM github_repository JOIN github_installation ON github_installation.id = installation_id
    WHERE github_repository.id = repository_id AND allowed AND github_installation.state = 'active'
) AND EXISTS (
    SELECT FROM github_measurement JOIN github_measurement_request ON measurement_id = github_measurement.id
    JOIN job USING (request_id)
    WHERE pull_request_id = github_pull_request.id AND github_measurement.state = 'asked'
      AND (job.state IN ('queued', 'leased') OR job.ended >= %s)
)
ORDER BY 1
"""


def list_active_pull_requests(connection: Connection[Any], since: datetime) -> list[int]:
    """Returns reachable pull requests with a job that waits, runs, or ended since `since`."""
    return values(connection, int).execute(_MOVING, [since]).fetchall()


def open_of_installation(connection: Connection[Any], installation: int) -> list[int]:
    query = (
        "SELECT github_pull_request.id FROM github_pull_request"
        " JOIN github_repository ON github_repository.id = repository_id"
        " WHERE installation_id = %s AND github_pull_request.state = 'open' ORDER BY 1"
    )
    return values(connection, int).execute(query, [installation]).fetchall()


def next_sequence(connection: Connection[Any], identity: int) -> int:
    """Returns a number that no comment of this pull request had before."""
    query = "UPDATE github_pull_request SET sequence = sequence + 1 WHERE id = %s RETURNING sequence"
    return fetch_single_row(values(connection, int).execute(query, [identity]))


def keep_shown(
    connection: Connection[Any],
    identity: int,
    sequence: int,
    shown: str,
    checked_head: str | None,
    now: datetime,
) -> None:
    """Records what was posted last, unless something newer was posted meanwhile.

    `checked_head` is the head whose check run is still in progress.
    """
    connection.execute(
        "UPDATE github_pull_request SET shown = %s, checked_head = %s, posted = %s"
        " WHERE id = %s AND sequence = %s",
        [shown, checked_head, now, identity, sequence],
    )


def counts(connection: Connection[Any]) -> dict[str, int]:
    query = (
        "SELECT CASE WHEN waits THEN 'waits' ELSE state END AS state, count(*) AS pull_requests"
        " FROM github_pull_request GROUP BY 1"
    )
    return dict(pairs(connection, str, int).execute(query).fetchall())
