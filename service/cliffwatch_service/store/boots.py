"""Boots: their samples, their documents, and their raw outputs."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypedDict

from psycopg import Connection
from psycopg.types.json import Jsonb

from cliffwatch.samples import Stage
from cliffwatch_service.postgres.rows import row_cursor, values

RAW_PIECE = 1 << 20
"""Bytes of a packed archive that are stored and fetched at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewBoot:
    """A boot to store."""

    run_id: int
    number: int
    arm_id: int
    block: int
    stage: Stage
    layout: str | None
    status: str
    began: datetime | None
    ended: datetime | None
    digest: str
    columns_id: int
    samples: Sequence[float]
    """One value for each series that `columns_id` names."""
    document: bytes
    """Packed (zstd)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BootRow:
    """A boot in a list."""

    number: int
    arm: str
    block: int
    stage: Stage
    layout: str | None
    status: str
    began: datetime | None
    ended: datetime | None
    received: datetime
    digest: str
    samples: int
    """Number of samples."""
    raw_digest: str | None
    """Digest of its raw outputs; None if they are not stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeBootRow:
    """A boot's samples and document."""

    columns_id: int
    samples: list[float]
    """One value for each series that `columns_id` names."""
    content: bytes
    """Its document, zstd."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StageSamplesRow:
    """A boot's samples and stage."""

    stage: Stage
    columns_id: int
    samples: list[float]
    """One value for each series that `columns_id` names."""


class RawFileListed(TypedDict):
    """A file of raw outputs."""

    name: str
    size: int
    """Bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RawRow:
    """The raw outputs of a boot."""

    digest: str
    files: list[RawFileListed]


@dataclass(frozen=True, slots=True, kw_only=True)
class RawFilesRow:
    """The files of a boot's raw outputs."""

    number: int
    """Number of the boot."""
    files: list[RawFileListed]


def insert_boot(connection: Connection[Any], boot: NewBoot, now: datetime) -> bool:
    """Returns whether the boot is new. A stored boot does not change."""
    inserted = connection.execute(
        "INSERT INTO boot (run_id, number, arm_id, block, stage, layout, status, began, ended, received,"
        " digest, columns_id, samples) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %b)"
        " ON CONFLICT (run_id, number) DO NOTHING RETURNING number",
        [
            boot.run_id,
            boot.number,
            boot.arm_id,
            boot.block,
            boot.stage,
            boot.layout,
            boot.status,
            boot.began,
            boot.ended,
            now,
            boot.digest,
            boot.columns_id,
            list(boot.samples),
        ],
    ).fetchone()
    if inserted is None:
        return False
    connection.execute(
        "INSERT INTO boot_document (run_id, number, content) VALUES (%s, %s, %b)",
        [boot.run_id, boot.number, boot.document],
    )
    return True


def boot_digest(connection: Connection[Any], run_id: int, number: int) -> str | None:
    query = "SELECT digest FROM boot WHERE run_id = %s AND number = %s"
    return values(connection, str).execute(query, [run_id, number]).fetchone()


def boots_of(connection: Connection[Any], run_id: int) -> list[BootRow]:
    """Returns the boots of a run without their samples."""
    query = (
        "SELECT boot.number, arm.name AS arm, block, stage, layout, status, began, ended, boot.received,"
        " boot.digest, cardinality(samples) AS samples, raw_output.digest AS raw_digest"
        " FROM boot JOIN arm ON arm.id = arm_id"
        " LEFT JOIN raw_output ON raw_output.run_id = boot.run_id AND raw_output.number = boot.number"
        " WHERE boot.run_id = %s ORDER BY boot.number"
    )
    return row_cursor(connection, BootRow).execute(query, [run_id]).fetchall()


def boot_numbers(connection: Connection[Any], run_id: int) -> set[int]:
    return set(
        values(connection, int).execute("SELECT number FROM boot WHERE run_id = %s", [run_id]).fetchall()
    )


def whole_boot(connection: Connection[Any], run_id: int, number: int) -> WholeBootRow | None:
    query = (
        "SELECT columns_id, samples, content FROM boot JOIN boot_document USING (run_id, number)"
        " WHERE run_id = %s AND number = %s"
    )
    return row_cursor(connection, WholeBootRow).execute(query, [run_id, number], binary=True).fetchone()


def head_of_document(connection: Connection[Any], run_id: int, number: int) -> bytes | None:
    """Returns the first bytes of a boot's packed document, which hold its size."""
    query = "SELECT substring(content FOR 18) AS head FROM boot_document WHERE run_id = %s AND number = %s"
    return values(connection, bytes).execute(query, [run_id, number], binary=True).fetchone()


def whole_boots_of_arm(connection: Connection[Any], arm_id: int) -> list[WholeBootRow]:
    query = (
        "SELECT columns_id, samples, content FROM boot JOIN boot_document USING (run_id, number)"
        " WHERE arm_id = %s"
        " ORDER BY number"
    )
    return row_cursor(connection, WholeBootRow).execute(query, [arm_id], binary=True).fetchall()


def samples_of_arm(connection: Connection[Any], arm_id: int) -> list[StageSamplesRow]:
    query = "SELECT stage, columns_id, samples FROM boot WHERE arm_id = %s ORDER BY number"
    return row_cursor(connection, StageSamplesRow).execute(query, [arm_id], binary=True).fetchall()


def boot_digests_of_arm(connection: Connection[Any], arm_id: int) -> list[str]:
    query = "SELECT digest FROM boot WHERE arm_id = %s ORDER BY number"
    return values(connection, str).execute(query, [arm_id]).fetchall()


def insert_raw(
    connection: Connection[Any],
    run_id: int,
    number: int,
    *,
    digest: str,
    files: Sequence[RawFileListed],
    now: datetime,
) -> bool:
    """Returns whether the archive is new. `insert_raw_piece` stores its pieces."""
    inserted = connection.execute(
        "INSERT INTO raw_output (run_id, number, digest, files, received) VALUES (%s, %s, %s, %s, %s)"
        " ON CONFLICT (run_id, number) DO NOTHING RETURNING number",
        [run_id, number, digest, Jsonb(list(files)), now],
    ).fetchone()
    return inserted is not None


def insert_raw_piece(
    connection: Connection[Any], run_id: int, number: int, index: int, content: bytes
) -> None:
    connection.execute(
        "INSERT INTO raw_piece (run_id, number, place, content) VALUES (%s, %s, %s, %b)",
        [run_id, number, index, content],
    )


def raw_about(connection: Connection[Any], run_id: int, number: int) -> RawRow | None:
    query = "SELECT digest, files FROM raw_output WHERE run_id = %s AND number = %s"
    return row_cursor(connection, RawRow).execute(query, [run_id, number]).fetchone()


def raw_files_of_arm(connection: Connection[Any], arm_id: int) -> list[RawFilesRow]:
    """Returns the files of each boot of an arm that has raw outputs."""
    query = (
        "SELECT boot.number, files FROM boot JOIN raw_output ON raw_output.run_id = boot.run_id"
        " AND raw_output.number = boot.number WHERE arm_id = %s ORDER BY boot.number"
    )
    return row_cursor(connection, RawFilesRow).execute(query, [arm_id]).fetchall()


def raw_piece(connection: Connection[Any], run_id: int, number: int, index: int) -> bytes:
    """Returns a piece of a packed archive; empty after the last one."""
    query = "SELECT content FROM raw_piece WHERE run_id = %s AND number = %s AND place = %s"
    return values(connection, bytes).execute(query, [run_id, number, index], binary=True).fetchone() or b""


_EXPIRED = """
DELETE FROM raw_output USING run
WHERE run.id = raw_output.run_id AND raw_output.received < %(before)s
  AND NOT EXISTS (
    SELECT FROM arm JOIN revision ON revision.id = revision_id
    WHERE arm.run_id = run.id AND revision.subject ~ '^Linux [0-9]+\\.[0-9]+(\\.[0-9]+)?(-rc[0-9]+)?$'
  )
  AND NOT EXISTS (
    SELECT FROM comparison JOIN arm ON arm.id = head_arm_id
    JOIN change ON change.comparison_id = comparison.id
    WHERE arm.run_id = run.id AND change.state = 'confirmed'
  )
"""


def remove_raw(connection: Connection[Any], before: datetime) -> int:
    """Removes raw outputs received before a time; returns of how many boots.

    Those of kernel releases and of confirmed changes stay.
    """
    return connection.execute(_EXPIRED, {"before": before}).rowcount
