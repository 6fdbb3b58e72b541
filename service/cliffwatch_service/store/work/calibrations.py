"""Calibrations of hosts: how much equal kernels differ there."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg import Connection
from psycopg.types.json import Jsonb

from cliffwatch.formats.values import FreeJson
from cliffwatch.samples import Mode
from cliffwatch_service.postgres.rows import row_cursor


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationRow:
    """A calibration of a host."""

    host: str
    platform: str
    mode: Mode
    made: datetime
    """When its oldest run began."""
    received: datetime
    passed: bool
    document: FreeJson
    """calibration.json."""


def keep_calibration(connection: Connection[Any], digest: str, host_id: int, row: CalibrationRow) -> bool:
    """Stores a calibration. Returns False if it is stored already."""
    kept = connection.execute(
        "INSERT INTO calibration (digest, host_id, platform, mode, made, received, passed, document)"
        " VALUES (%s, %s, %s, %s, %s, %s, %s, %s) ON CONFLICT (digest) DO NOTHING RETURNING id",
        [
            digest,
            host_id,
            row.platform,
            row.mode,
            row.made,
            row.received,
            row.passed,
            Jsonb(row.document),
        ],
    ).fetchone()
    return kept is not None


def calibrations_of(connection: Connection[Any], host: str, limit: int) -> list[CalibrationRow]:
    """Returns the newest calibrations of a host, the newest first."""
    query = (
        "SELECT host.name AS host, calibration.platform, mode, made, received, passed, document"
        " FROM calibration JOIN host ON host.id = host_id WHERE host.name = %s"
        " ORDER BY made DESC, calibration.id DESC LIMIT %s"
    )
    return row_cursor(connection, CalibrationRow).execute(query, [host, limit]).fetchall()
