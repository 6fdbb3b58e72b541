"""Boots: their samples, what they hold besides, and their raw outputs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg import Connection
from psycopg.types.json import Jsonb

RAW_PIECE = 1 << 20
"""Bytes of a packed archive that are stored, and fetched, at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BootRow:
    """A boot as it is stored: `samples` are of the series that `columns_id` names; `document` is zstd."""

    run_id: int
    number: int
    arm_id: int
    block: int
    stage: str
    layout: str | None
    status: str
    began: datetime | None
    ended: datetime | None
    digest: str
    columns_id: int
    samples: Sequence[float]
    document: bytes


def insert_boot(connection: Connection[Any], boot: BootRow, now: datetime) -> bool:
    """Whether the boot is new; what is there stays as it is."""
    inserted = connection.execute(
        "INSERT INTO boot (run_id, number, arm_id, block, stage, layout, status, began, ended, received, digest, columns_id,"
        " samples) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %b)"
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
    row = connection.execute("SELECT digest FROM boot WHERE run_id = %s AND number = %s", [run_id, number]).fetchone()
    return None if row is None else str(row["digest"])


def boots_of(connection: Connection[Any], run_id: int) -> list[Mapping[str, Any]]:
    """The boots of a run without their samples."""
    return connection.execute(
        "SELECT boot.number, arm.name AS arm, block, stage, layout, status, began, ended, boot.received, boot.digest,"
        " cardinality(samples) AS samples, raw_output.digest AS raw_digest"
        " FROM boot JOIN arm ON arm.id = arm_id"
        " LEFT JOIN raw_output ON raw_output.run_id = boot.run_id AND raw_output.number = boot.number"
        " WHERE boot.run_id = %s ORDER BY boot.number",
        [run_id],
    ).fetchall()


def boot_numbers(connection: Connection[Any], run_id: int) -> set[int]:
    rows = connection.execute("SELECT number FROM boot WHERE run_id = %s", [run_id]).fetchall()
    return {row["number"] for row in rows}


def whole_boot(connection: Connection[Any], run_id: int, number: int) -> Mapping[str, Any] | None:
    """A boot's columns_id, samples, and its document as content."""
    return connection.execute(
        "SELECT columns_id, samples, content FROM boot JOIN boot_document USING (run_id, number)"
        " WHERE run_id = %s AND number = %s",
        [run_id, number],
        binary=True,
    ).fetchone()


def head_of_document(connection: Connection[Any], run_id: int, number: int) -> bytes | None:
    """The first bytes of a boot's packed document, which say how large it is."""
    row = connection.execute(
        "SELECT substring(content FOR 18) AS head FROM boot_document WHERE run_id = %s AND number = %s",
        [run_id, number],
        binary=True,
    ).fetchone()
    return None if row is None else bytes(row["head"])


def whole_boots_of_arm(connection: Connection[Any], arm_id: int) -> list[Mapping[str, Any]]:
    """Per boot of an arm: columns_id, samples, and its document as content."""
    return connection.execute(
        "SELECT columns_id, samples, content FROM boot JOIN boot_document USING (run_id, number) WHERE arm_id = %s"
        " ORDER BY number",
        [arm_id],
        binary=True,
    ).fetchall()


def samples_of_arm(connection: Connection[Any], arm_id: int) -> list[Mapping[str, Any]]:
    """Per boot of an arm: number, stage, columns_id and samples."""
    return connection.execute(
        "SELECT number, stage, columns_id, samples FROM boot WHERE arm_id = %s ORDER BY number", [arm_id], binary=True
    ).fetchall()


def boot_digests_of_arm(connection: Connection[Any], arm_id: int) -> list[str]:
    rows = connection.execute("SELECT digest FROM boot WHERE arm_id = %s ORDER BY number", [arm_id]).fetchall()
    return [row["digest"] for row in rows]


def insert_raw(
    connection: Connection[Any],
    run_id: int,
    number: int,
    *,
    digest: str,
    files: Sequence[Mapping[str, Any]],
    now: datetime,
) -> bool:
    """Whether the archive is new; its pieces are kept by insert_raw_piece."""
    inserted = connection.execute(
        "INSERT INTO raw_output (run_id, number, digest, files, received) VALUES (%s, %s, %s, %s, %s)"
        " ON CONFLICT (run_id, number) DO NOTHING RETURNING number",
        [run_id, number, digest, Jsonb(list(files)), now],
    ).fetchone()
    return inserted is not None


def insert_raw_piece(connection: Connection[Any], run_id: int, number: int, index: int, content: bytes) -> None:
    connection.execute(
        "INSERT INTO raw_piece (run_id, number, place, content) VALUES (%s, %s, %s, %b)",
        [run_id, number, index, content],
    )


def raw_about(connection: Connection[Any], run_id: int, number: int) -> Mapping[str, Any] | None:
    return connection.execute(
        "SELECT digest, files FROM raw_output WHERE run_id = %s AND number = %s", [run_id, number]
    ).fetchone()


def raw_files_of_arm(connection: Connection[Any], arm_id: int) -> list[Mapping[str, Any]]:
    """Per boot of an arm whose raw outputs are here: its number, and files as name and size."""
    return connection.execute(
        "SELECT boot.number, files FROM boot JOIN raw_output ON raw_output.run_id = boot.run_id"
        " AND raw_output.number = boot.number WHERE arm_id = %s ORDER BY boot.number",
        [arm_id],
    ).fetchall()


def raw_piece(connection: Connection[Any], run_id: int, number: int, index: int) -> bytes:
    """A piece of a packed archive; empty after the last one. Archives of before migration 0006 lie whole in their row."""
    row = connection.execute(
        "SELECT coalesce(raw_piece.content, substring(raw_output.content FROM %(begin)s FOR %(size)s)) AS content"
        " FROM raw_output LEFT JOIN raw_piece ON raw_piece.run_id = raw_output.run_id"
        " AND raw_piece.number = raw_output.number AND place = %(place)s"
        " WHERE raw_output.run_id = %(run)s AND raw_output.number = %(number)s",
        {"run": run_id, "number": number, "place": index, "begin": index * RAW_PIECE + 1, "size": RAW_PIECE},
        binary=True,
    ).fetchone()
    return b"" if row is None or row["content"] is None else bytes(row["content"])


_EXPIRED = """
DELETE FROM raw_output USING run
WHERE run.id = raw_output.run_id AND raw_output.received < %(before)s
  AND NOT EXISTS (
    SELECT FROM arm JOIN revision ON revision.id = revision_id
    WHERE arm.run_id = run.id AND revision.subject ~ '^Linux [0-9]+\\.[0-9]+(\\.[0-9]+)?(-rc[0-9]+)?$'
  )
  AND NOT EXISTS (
    SELECT FROM comparison JOIN arm ON arm.id = head_arm_id JOIN change ON change.comparison_id = comparison.id
    WHERE arm.run_id = run.id AND change.state = 'confirmed'
  )
"""


def remove_raw(connection: Connection[Any], before: datetime) -> int:
    """Removes raw outputs received before a time; how many boots'. Those of releases, and those behind a change, stay."""
    return connection.execute(_EXPIRED, {"before": before}).rowcount
