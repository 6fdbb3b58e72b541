"""Stores calibrations of hosts. One that passes ends the host's quarantine."""

from datetime import datetime, timedelta
from typing import Any

from psycopg import Connection

from cliffwatch.formats.calibration import CalibrationDocument
from cliffwatch.formats.reading import as_json
from cliffwatch.identities import digest_of
from cliffwatch.samples import Mode
from cliffwatch_service.access.authorisation import refuse_host_name
from cliffwatch_service.access.tokens import Caller
from cliffwatch_service.ingest.uploads import time_of
from cliffwatch_service.jobs.quarantine import QUARANTINED
from cliffwatch_service.refusal import Refusal, not_found
from cliffwatch_service.store import runs, tokens
from cliffwatch_service.store.work import calibrations, hosts, quarantines
from cliffwatch_service.store.work.calibrations import CalibrationRow
from cliffwatch_service.store.work.hosts import HostRow

_BY = "a calibration that passed"
_CLOCKS_DIFFER = timedelta(hours=1)


def keep_calibration(
    connection: Connection[Any], host: str, document: CalibrationDocument, *, by: Caller, now: datetime
) -> CalibrationRow:
    """Stores a calibration of a host, and ends the host's quarantine if it passed and is newer.

    Raises Refusal as `host_to_calibrate` does, and if the calibration is of no time or of a later one.
    """
    known = host_to_calibrate(connection, host, document.platform, document.mode, by=by, now=now)
    made = _moment(document.created, now)
    row = CalibrationRow(
        host=host,
        platform=document.platform,
        mode=document.mode,
        made=made,
        received=now,
        passed=not document.shortfalls(),
        document=as_json(document),
    )
    runs.keep_platform(connection, document.platform)
    calibrations.keep_calibration(connection, digest_of(["calibration", host, row.document]), known.id, row)
    quarantine = quarantines.quarantine_of(connection, known.id)
    if quarantine is not None and row.passed and row.mode == QUARANTINED and made > quarantine.began:
        quarantines.end_quarantine(connection, known.id, _BY, now)
        detail = {"reason": _BY, "made": document.created}
        tokens.write_audit(
            connection, who=by.name, action="end-quarantine", what=host, detail=detail, now=now
        )
    return row


def host_to_calibrate(
    connection: Connection[Any], host: str, platform: str, mode: Mode, *, by: Caller, now: datetime
) -> HostRow:
    """Returns the host whose calibrations the caller may send.

    Raises Refusal if the host is unknown or another's, or of another platform.
    """
    refuse_host_name(connection, by, host, now)
    known = hosts.host_row(connection, host)
    if known is None:
        raise not_found("host", host)
    if by.host is None and known.token_id != by.token_id:
        raise Refusal(
            403,
            "another host's name",
            f"host {host!r} works with another token than {by.name!r}: use that token",
        )
    if mode == QUARANTINED and platform != known.platform:
        raise Refusal(
            409,
            "another platform",
            f"host {host} is of platform {known.platform}, and this calibration of {platform}:"
            " calibrate it as it measures",
        )
    return known


def _moment(text: str, now: datetime) -> datetime:
    """Raises Refusal if the text is no time, or one to come: it would end a quarantine that begins later."""
    made = time_of(text, "created")
    if made > now + _CLOCKS_DIFFER:
        raise Refusal(
            422,
            "a time to come",
            f"`created` is {text}, and it is {now:%Y-%m-%d %H:%M} UTC: set the host's clock",
        )
    return made
