"""Arms of runs, their kernels, and which of them count as measurements of a revision."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from psycopg import Connection
from psycopg.types.json import Jsonb

from cliffwatch.formats.values import FreeJson
from cliffwatch.samples import Mode
from cliffwatch_service.postgres.rows import fetch_single_row, row_cursor, values


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmRow:
    """An arm of a run."""

    id: int
    run_id: int
    name: str
    revision_id: int | None
    """None if its commit is unknown."""
    label: str
    own_settings: bool
    """Whether it has settings of its own. It then does not count as a measurement of its revision."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredArmRow:
    """An arm and its run."""

    id: int
    run: str
    """Digest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedRunRow:
    """A run that measured two revisions together."""

    base: int
    """Id of the arm."""
    head: int
    """Id of the arm."""
    run: str
    """Digest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetRow:
    """A platform and mode, within which numbers can be compared."""

    platform: str
    mode: Mode


def keep_kernel(
    connection: Connection[Any], digest: str, revision_id: int, config: str | None, toolchain: FreeJson
) -> None:
    connection.execute(
        "INSERT INTO kernel (digest, revision_id, config_digest, toolchain) VALUES (%s, %s, %s, %s)"
        " ON CONFLICT DO NOTHING",
        [digest, revision_id, config, Jsonb(toolchain)],
    )


def keep_arm(
    connection: Connection[Any],
    run_id: int,
    name: str,
    *,
    revision_id: int | None,
    kernel: str | None,
    label: str,
    own_settings: bool,
    failure: Mapping[str, object] | None,
) -> int:
    arm = values(connection, int).execute(
        "INSERT INTO arm (run_id, name, revision_id, kernel_digest, label, own_settings, failure)"
        " VALUES (%s, %s, %s, %s, %s, %s, %s)"
        " ON CONFLICT (run_id, name) DO UPDATE SET failure = excluded.failure RETURNING id",
        [run_id, name, revision_id, kernel, label, own_settings, None if failure is None else Jsonb(failure)],
    )
    return fetch_single_row(arm)


_ARM = "SELECT id, run_id, name, revision_id, label, own_settings FROM arm"


def arms_of(connection: Connection[Any], run_id: int) -> list[ArmRow]:
    return (
        row_cursor(connection, ArmRow).execute(_ARM + " WHERE run_id = %s ORDER BY id", [run_id]).fetchall()
    )


def arm_row(connection: Connection[Any], arm_id: int) -> ArmRow:
    return fetch_single_row(row_cursor(connection, ArmRow).execute(_ARM + " WHERE id = %s", [arm_id]))


_LATEST_ARM = """
SELECT arm.id, run.digest AS run
FROM arm JOIN run ON run.id = run_id
WHERE revision_id = %(revision)s AND platform = %(platform)s AND mode = %(mode)s
    AND arm.name NOT IN ('control', 'matched') AND NOT own_settings
  AND EXISTS (SELECT FROM boot WHERE arm_id = arm.id)
ORDER BY run.of_history DESC, run.created DESC, arm.id DESC LIMIT 1
"""


def latest_arm(
    connection: Connection[Any], revision_id: int, platform: str, mode: str
) -> MeasuredArmRow | None:
    """Returns the newest measurement of a revision on a platform in a mode.

    Runs of history take precedence over other uploads.
    """
    wanted = {"revision": revision_id, "platform": platform, "mode": mode}
    return row_cursor(connection, MeasuredArmRow).execute(_LATEST_ARM, wanted).fetchone()


_SHARED_RUN = """
SELECT base.id AS base, head.id AS head, run.digest AS run
FROM arm AS base JOIN arm AS head USING (run_id) JOIN run ON run.id = run_id
WHERE base.revision_id = %(base)s AND head.revision_id = %(head)s AND base.name = 'base'
    AND head.name = 'head'
  AND NOT base.own_settings AND NOT head.own_settings
  AND platform = %(platform)s AND mode = %(mode)s
  AND (run.status = 'complete' OR EXISTS (SELECT FROM boot WHERE arm_id IN (base.id, head.id)))
ORDER BY run.of_history DESC, EXISTS (SELECT FROM boot WHERE arm_id IN (base.id, head.id)) DESC,
    run.created DESC, run.id DESC LIMIT 1
"""


def shared_run(
    connection: Connection[Any], base: int, head: int, platform: str, mode: str
) -> SharedRunRow | None:
    """Returns the newest run that measured both revisions together, with its two arms.

    Runs of history come first. Runs without boots come last: nothing that their cases execute differs.
    """
    wanted = {"base": base, "head": head, "platform": platform, "mode": mode}
    return row_cursor(connection, SharedRunRow).execute(_SHARED_RUN, wanted).fetchone()


def targets_of(connection: Connection[Any], revision_id: int) -> list[tuple[str, Mode]]:
    """Returns the platforms and modes on which a revision was measured."""
    query = (
        "SELECT DISTINCT platform, mode FROM arm JOIN run ON run.id = run_id"
        " WHERE revision_id = %s AND NOT own_settings ORDER BY 1, 2"
    )
    rows = row_cursor(connection, TargetRow).execute(query, [revision_id]).fetchall()
    return [(row.platform, row.mode) for row in rows]


def sample_count(connection: Connection[Any], arms: Sequence[int]) -> int:
    """Returns how many samples the arms have."""
    query = (
        "SELECT coalesce(sum(cardinality(series)), 0)::bigint AS samples FROM boot"
        " JOIN columns ON columns.id = columns_id"
        " WHERE arm_id = ANY(%s)"
    )
    return fetch_single_row(values(connection, int).execute(query, [list(arms)]))
