"""Runs, with their environments and platforms."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Literal, TypedDict
from uuid import UUID

from psycopg import Connection
from psycopg.types.json import Jsonb

from cliffwatch.formats.values import FreeJson
from cliffwatch.samples import Mode
from cliffwatch_service.postgres.rows import fetch_single_row, row_cursor, values

RunStatus = Literal["running", "incomplete", "complete"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRun:
    """A run to store."""

    digest: str
    identity: str
    platform: str
    mode: Mode
    status: RunStatus
    host_id: int
    environment_id: int
    created: datetime
    record: bytes
    """run.json, zstd."""
    record_digest: str
    uploaded_by: int
    lease_id: UUID | None
    of_history: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """A stored run."""

    id: int
    digest: str
    platform: str
    mode: Mode
    status: RunStatus
    host_id: int | None
    environment_id: int
    created: datetime
    received: datetime
    record: bytes
    """run.json, zstd."""
    record_digest: str
    uploaded_by: int
    lease_id: UUID | None
    of_history: bool
    """Whether its points belong to the history of series."""


class ArmListed(TypedDict):
    """An arm in a list of runs."""

    label: str
    commit: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunListedRow:
    """A run in a list."""

    id: int
    digest: str
    platform: str
    mode: Mode
    status: RunStatus
    created: datetime
    received: datetime
    of_history: bool
    host: str | None
    boots: int
    """Number of boots."""
    arms: dict[str, ArmListed] | None
    """By name; None if the run has none."""


def keep_environment(connection: Connection[Any], digest: str, epoch: str, facts: FreeJson) -> int:
    connection.execute(
        "INSERT INTO environment (digest, epoch, facts) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING",
        [digest, epoch, Jsonb(facts)],
    )
    return fetch_single_row(
        values(connection, int).execute("SELECT id FROM environment WHERE digest = %s", [digest])
    )


def facts_of_runs(connection: Connection[Any], digests: Sequence[str]) -> dict[str, FreeJson]:
    """Returns the facts of the environments of runs, by the runs' digests."""
    query = (
        "SELECT run.digest, facts FROM run JOIN environment ON environment.id = environment_id"
        " WHERE run.digest = ANY(%s)"
    )
    return dict(connection.execute(query, [list(digests)]).fetchall())


def keep_platform(connection: Connection[Any], name: str) -> None:
    connection.execute("INSERT INTO platform (name) VALUES (%s) ON CONFLICT DO NOTHING", [name])


_RUN = """
SELECT id, digest, platform, mode, status, host_id, environment_id, created, received, record, record_digest,
    uploaded_by, lease_id, of_history
FROM run
"""


def run_row(connection: Connection[Any], digest: str, *, lock: bool = False) -> RunRow | None:
    query = _RUN + " WHERE digest = %s" + (" FOR NO KEY UPDATE" if lock else "")
    return row_cursor(connection, RunRow).execute(query, [digest]).fetchone()


def begun_since(connection: Connection[Any], token_id: int, moment: datetime) -> int:
    """Returns how many runs a token has started since `moment`."""
    query = "SELECT count(*) AS runs FROM run WHERE uploaded_by = %s AND received >= %s"
    return fetch_single_row(values(connection, int).execute(query, [token_id, moment]))


def runs_named(connection: Connection[Any], prefix: str) -> list[RunRow]:
    """Returns at most two runs whose digest starts with `prefix`."""
    query = _RUN + " WHERE digest >= %s AND digest < %s ORDER BY digest LIMIT 2"
    return row_cursor(connection, RunRow).execute(query, [prefix, prefix + "g"]).fetchall()


def run_by_id(connection: Connection[Any], run_id: int) -> RunRow | None:
    return row_cursor(connection, RunRow).execute(_RUN + " WHERE id = %s", [run_id]).fetchone()


def insert_run(connection: Connection[Any], row: NewRun, now: datetime) -> int | None:
    """Returns the new run's id; None if the run is stored already."""
    inserted = values(connection, int).execute(
        "INSERT INTO run (digest, identity, platform, mode, status, host_id, environment_id, created,"
        " received, updated, record, record_digest, uploaded_by, lease_id, of_history)"
        " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
        " ON CONFLICT (digest) DO NOTHING RETURNING id",
        [
            row.digest,
            row.identity,
            row.platform,
            row.mode,
            row.status,
            row.host_id,
            row.environment_id,
            row.created,
            now,
            now,
            row.record,
            row.record_digest,
            row.uploaded_by,
            row.lease_id,
            row.of_history,
        ],
    )
    return inserted.fetchone()


def set_lease(connection: Connection[Any], run_id: int, lease_id: UUID, *, of_history: bool) -> None:
    connection.execute(
        "UPDATE run SET lease_id = %s, of_history = %s WHERE id = %s", [lease_id, of_history, run_id]
    )


def update_run(
    connection: Connection[Any],
    run_id: int,
    status: RunStatus,
    record: bytes,
    record_digest: str,
    now: datetime,
) -> None:
    connection.execute(
        "UPDATE run SET status = %s, record = %s, record_digest = %s, updated = %s WHERE id = %s",
        [status, record, record_digest, now, run_id],
    )


_LIST = """
SELECT run.digest, run.platform, run.mode, run.status, run.created, run.received, run.id, of_history,
    host.name AS host,
       (SELECT count(*) FROM boot WHERE run_id = run.id) AS boots,
       (SELECT jsonb_object_agg(arm.name, jsonb_build_object('label', arm.label, 'commit', revision.commit))
        FROM arm LEFT JOIN revision ON revision.id = revision_id WHERE run_id = run.id) AS arms
FROM run LEFT JOIN host ON host.id = host_id
WHERE (%(platform)s::text IS NULL OR run.platform = %(platform)s)
  AND (%(mode)s::text IS NULL OR run.mode = %(mode)s)
  AND (%(revision)s::int IS NULL OR EXISTS (SELECT FROM arm
      WHERE run_id = run.id AND revision_id = %(revision)s))
  AND (%(of_history)s::boolean IS NULL OR of_history = %(of_history)s)
  AND (%(at)s::timestamptz IS NULL OR (run.received, run.id) < (%(at)s, %(number)s))
ORDER BY run.received DESC, run.id DESC LIMIT %(limit)s
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunsWanted:
    """Which runs to list. None leaves a filter open."""

    platform: str | None = None
    mode: str | None = None
    revision: int | None = None
    of_history: bool | None = None
    at: datetime | None = None
    """When the run before the first of the list was received."""
    number: int | None = None
    """Id of the run before the first of the list."""
    limit: int


def list_runs(connection: Connection[Any], wanted: RunsWanted) -> list[RunListedRow]:
    """Returns runs, newest first."""
    return row_cursor(connection, RunListedRow).execute(_LIST, asdict(wanted)).fetchall()


def count_runs(connection: Connection[Any], most: int) -> int:
    """Returns the number of runs, at most `most`, so that it takes no longer the more there are."""
    query = "SELECT count(*) FROM (SELECT FROM run LIMIT %s) AS run"
    return fetch_single_row(values(connection, int).execute(query, [most]))


def host_of_run(connection: Connection[Any], digest: str) -> str | None:
    query = "SELECT host.name FROM run JOIN host ON host.id = host_id WHERE digest = %s"
    return values(connection, str).execute(query, [digest]).fetchone()


def run_of_identity(connection: Connection[Any], identity: str, host_id: int) -> RunRow | None:
    query = _RUN + " WHERE identity = %s AND host_id = %s ORDER BY id LIMIT 1"
    return row_cursor(connection, RunRow).execute(query, [identity, host_id]).fetchone()


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryRunRow:
    """A complete run of history, without its record."""

    id: int
    digest: str
    platform: str
    mode: Mode
    created: datetime
    received: datetime
    samples: int
    """Number of samples."""


def history_runs(connection: Connection[Any]) -> list[HistoryRunRow]:
    """Returns the runs in the order in which they were stored."""
    query = (
        "SELECT id, digest, platform, mode, created, received,"
        " (SELECT coalesce(sum(cardinality(series)), 0)::bigint"
        " FROM boot JOIN columns ON columns.id = columns_id WHERE run_id = run.id) AS samples"
        " FROM run WHERE of_history AND status = 'complete' ORDER BY id"
    )
    return row_cursor(connection, HistoryRunRow).execute(query).fetchall()
