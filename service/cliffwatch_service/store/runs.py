"""Runs and their arms, with the environments and kernels that they name."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg import Connection
from psycopg.types.json import Jsonb

from cliffwatch.samples import Mode


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """A run as it is stored. `record` is run.json, zstd."""

    digest: str
    identity: str
    platform: str
    mode: str
    status: str
    host_id: int | None
    environment_id: int
    created: datetime
    record: bytes
    record_digest: str
    uploaded_by: int
    lease_id: UUID | None
    of_history: bool


def keep_environment(connection: Connection[Any], digest: str, epoch: str, facts: Mapping[str, Any]) -> int:
    connection.execute(
        "INSERT INTO environment (digest, epoch, facts) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING",
        [digest, epoch, Jsonb(facts)],
    )
    row = connection.execute("SELECT id FROM environment WHERE digest = %s", [digest]).fetchone()
    assert row is not None
    return int(row["id"])


def keep_kernel(
    connection: Connection[Any], digest: str, revision_id: int, config: str | None, toolchain: Mapping[str, Any]
) -> None:
    connection.execute(
        "INSERT INTO kernel (digest, revision_id, config_digest, toolchain) VALUES (%s, %s, %s, %s) ON CONFLICT DO NOTHING",
        [digest, revision_id, config, Jsonb(toolchain)],
    )


def keep_platform(connection: Connection[Any], name: str) -> None:
    connection.execute("INSERT INTO platform (name) VALUES (%s) ON CONFLICT DO NOTHING", [name])


def run_row(connection: Connection[Any], digest: str, *, lock: bool = False) -> Mapping[str, Any] | None:
    locked = "SELECT * FROM run WHERE digest = %s FOR NO KEY UPDATE"
    return connection.execute(locked if lock else "SELECT * FROM run WHERE digest = %s", [digest]).fetchone()


def begun_since(connection: Connection[Any], token_id: int, moment: datetime) -> int:
    """How many runs were begun with a token since then."""
    row = connection.execute(
        "SELECT count(*) AS runs FROM run WHERE uploaded_by = %s AND received >= %s", [token_id, moment]
    ).fetchone()
    assert row is not None
    return int(row["runs"])


def runs_named(connection: Connection[Any], prefix: str) -> list[Mapping[str, Any]]:
    """The runs whose identity begins so, two at most."""
    return connection.execute(
        "SELECT * FROM run WHERE digest >= %s AND digest < %s ORDER BY digest LIMIT 2", [prefix, prefix + "g"]
    ).fetchall()


def run_by_id(connection: Connection[Any], run_id: int) -> Mapping[str, Any] | None:
    return connection.execute("SELECT * FROM run WHERE id = %s", [run_id]).fetchone()


def insert_run(connection: Connection[Any], row: RunRow, now: datetime) -> int | None:
    """The new run's id; None where it is there already."""
    inserted = connection.execute(
        "INSERT INTO run (digest, identity, platform, mode, status, host_id, environment_id, created, received, updated,"
        " record, record_digest, uploaded_by, lease_id, of_history)"
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
    ).fetchone()
    return None if inserted is None else int(inserted["id"])


def set_lease(connection: Connection[Any], run_id: int, lease_id: UUID, *, of_history: bool) -> None:
    connection.execute("UPDATE run SET lease_id = %s, of_history = %s WHERE id = %s", [lease_id, of_history, run_id])


def update_run(
    connection: Connection[Any], run_id: int, status: str, record: bytes, record_digest: str, now: datetime
) -> None:
    connection.execute(
        "UPDATE run SET status = %s, record = %s, record_digest = %s, updated = %s WHERE id = %s",
        [status, record, record_digest, now, run_id],
    )


def keep_arm(
    connection: Connection[Any],
    run_id: int,
    name: str,
    *,
    revision_id: int | None,
    kernel: str | None,
    label: str,
    failure: Mapping[str, Any] | None,
) -> int:
    row = connection.execute(
        "INSERT INTO arm (run_id, name, revision_id, kernel_digest, label, failure) VALUES (%s, %s, %s, %s, %s, %s)"
        " ON CONFLICT (run_id, name) DO UPDATE SET failure = excluded.failure RETURNING id",
        [run_id, name, revision_id, kernel, label, None if failure is None else Jsonb(failure)],
    ).fetchone()
    assert row is not None
    return int(row["id"])


def arms_of(connection: Connection[Any], run_id: int) -> list[Mapping[str, Any]]:
    return connection.execute("SELECT * FROM arm WHERE run_id = %s ORDER BY id", [run_id]).fetchall()


_LIST = """
SELECT run.digest, run.platform, run.mode, run.status, run.created, run.received, run.id, of_history, host.name AS host,
       (SELECT count(*) FROM boot WHERE run_id = run.id) AS boots,
       (SELECT jsonb_object_agg(arm.name, jsonb_build_object('label', arm.label, 'commit', revision.commit))
        FROM arm LEFT JOIN revision ON revision.id = revision_id WHERE run_id = run.id) AS arms
FROM run LEFT JOIN host ON host.id = host_id
WHERE (%(platform)s::text IS NULL OR run.platform = %(platform)s)
  AND (%(mode)s::text IS NULL OR run.mode = %(mode)s)
  AND (%(revision)s::int IS NULL OR EXISTS (SELECT FROM arm WHERE run_id = run.id AND revision_id = %(revision)s))
  AND (%(of_history)s::boolean IS NULL OR of_history = %(of_history)s)
  AND (%(at)s::timestamptz IS NULL OR (run.received, run.id) < (%(at)s, %(id)s))
ORDER BY run.received DESC, run.id DESC LIMIT %(limit)s
"""


def list_runs(connection: Connection[Any], wanted: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Newest first; `wanted` has platform, mode, revision, and the position to go on from as `at` and `id`, each or None;
    of_history where only such are wanted.
    """
    return connection.execute(_LIST, {"of_history": None, **wanted}).fetchall()


_LATEST_ARM = """
SELECT arm.id, arm.name, arm.run_id, run.digest AS run, revision.commit
FROM arm JOIN run ON run.id = run_id JOIN revision ON revision.id = revision_id
WHERE revision_id = %(revision)s AND platform = %(platform)s AND mode = %(mode)s AND arm.name <> 'control'
  AND EXISTS (SELECT FROM boot WHERE arm_id = arm.id)
ORDER BY run.of_history DESC, run.created DESC, arm.id DESC LIMIT 1
"""


def latest_arm(connection: Connection[Any], revision_id: int, platform: str, mode: str) -> Mapping[str, Any] | None:
    """The newest measurement of a revision on a platform in a mode; one of history goes before what anybody uploaded."""
    return connection.execute(_LATEST_ARM, {"revision": revision_id, "platform": platform, "mode": mode}).fetchone()


_SHARED_RUN = """
SELECT base.id AS base, head.id AS head, run.digest AS run
FROM arm AS base JOIN arm AS head USING (run_id) JOIN run ON run.id = run_id
WHERE base.revision_id = %(base)s AND head.revision_id = %(head)s AND base.name = 'base' AND head.name = 'head'
  AND platform = %(platform)s AND mode = %(mode)s AND EXISTS (SELECT FROM boot WHERE arm_id IN (base.id, head.id))
ORDER BY run.of_history DESC, run.created DESC, run.id DESC LIMIT 1
"""


def shared_run(connection: Connection[Any], base: int, head: int, platform: str, mode: str) -> Mapping[str, Any] | None:
    """The newest run that measured both revisions together, one of history before all others: its two arms."""
    return connection.execute(_SHARED_RUN, {"base": base, "head": head, "platform": platform, "mode": mode}).fetchone()


def targets_of(connection: Connection[Any], revision_id: int) -> list[tuple[str, Mode]]:
    """Platforms and modes on which a revision was measured."""
    rows = connection.execute(
        "SELECT DISTINCT platform, mode FROM arm JOIN run ON run.id = run_id WHERE revision_id = %s ORDER BY 1, 2",
        [revision_id],
    ).fetchall()
    return [(row["platform"], row["mode"]) for row in rows]


def host_of_run(connection: Connection[Any], digest: str) -> str | None:
    row = connection.execute(
        "SELECT host.name FROM run JOIN host ON host.id = host_id WHERE digest = %s", [digest]
    ).fetchone()
    return None if row is None else str(row["name"])


def arm_row(connection: Connection[Any], arm_id: int) -> Mapping[str, Any]:
    row: Mapping[str, Any] | None = connection.execute("SELECT * FROM arm WHERE id = %s", [arm_id]).fetchone()
    assert row is not None
    return row


def run_of_identity(connection: Connection[Any], identity: str, host_id: int) -> Mapping[str, Any] | None:
    return connection.execute(
        "SELECT * FROM run WHERE identity = %s AND host_id = %s ORDER BY id LIMIT 1", [identity, host_id]
    ).fetchone()


def sample_count(connection: Connection[Any], arms: Sequence[int]) -> int:
    """How many samples arms have."""
    row = connection.execute(
        "SELECT coalesce(sum(cardinality(series)), 0) AS samples FROM boot JOIN columns ON columns.id = columns_id"
        " WHERE arm_id = ANY(%s)",
        [list(arms)],
    ).fetchone()
    assert row is not None
    return int(row["samples"])


def history_runs(connection: Connection[Any]) -> list[Mapping[str, Any]]:
    """Complete runs whose points are history, without their records, in the order in which they came; `samples` is how many."""
    return connection.execute(
        "SELECT id, digest, platform, mode, created, received, (SELECT coalesce(sum(cardinality(series)), 0)::bigint"
        " FROM boot JOIN columns ON columns.id = columns_id WHERE run_id = run.id) AS samples"
        " FROM run WHERE of_history AND status = 'complete' ORDER BY id"
    ).fetchall()
