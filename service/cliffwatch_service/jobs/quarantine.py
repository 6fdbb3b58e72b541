"""Quarantines hosts whose control moved: they take no walltime job until it is ended.

Only runs of history count: an enrolled host measured commits of a followed branch. Otherwise whoever asks for
a job could stop a host with a kernel whose speed varies on purpose. Rehearsals are never of history.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from psycopg import Connection

from cliffwatch.counting import count_noun
from cliffwatch.samples import Mode
from cliffwatch_service.compare.stored import read_summary
from cliffwatch_service.refusal import Refusal, not_found
from cliffwatch_service.store import comparisons, runs, tokens
from cliffwatch_service.store.work import hosts, quarantines
from cliffwatch_service.store.work.quarantines import QuarantineRow

QUARANTINED: Mode = "walltime"
"""Mode whose jobs a host in quarantine does not get: a noisy host moves no counted value."""


def quarantine_if_control_moved(
    connection: Connection[Any], digest: str, comparison_id: int, now: datetime
) -> bool:
    """Quarantines a run's host if the method would have published a change of base to itself.

    Ignores a run that was made before the host's last quarantine ended. Returns whether one began.
    """
    run = runs.run_row(connection, digest)
    stored = comparisons.comparison_by_id(connection, comparison_id)
    if run is None or stored is None or run.mode != QUARANTINED or not run.of_history:
        return False
    control = read_summary(stored.summary).control
    if run.host_id is None or control is None or not control.published:
        return False
    before = quarantines.newest_quarantine(connection, run.host_id)
    if before is not None and (before.ended is None or run.created < before.ended):
        return False
    reason = (
        f"base differed from itself in {control.published} of {count_noun(control.rows, 'row')},"
        f" by up to {control.largest:.1%}"
    )
    return quarantines.begin_quarantine(connection, run.host_id, reason, run.id, now)


def begin(connection: Connection[Any], host: str, reason: str, *, who: str, now: datetime) -> QuarantineRow:
    """Quarantines a host for an operator's reason. Raises Refusal."""
    host_id = _host_id(connection, host)
    if not quarantines.begin_quarantine(connection, host_id, reason, None, now):
        raise Refusal(409, "in quarantine", f"host {host} is in quarantine already")
    detail = {"reason": reason}
    tokens.write_audit(connection, who=who, action="quarantine", what=host, detail=detail, now=now)
    return _newest(connection, host_id)


def end(connection: Connection[Any], host: str, reason: str, *, who: str, now: datetime) -> QuarantineRow:
    """Lets a host take walltime jobs again. Raises Refusal."""
    host_id = _host_id(connection, host)
    if not quarantines.end_quarantine(connection, host_id, who, now):
        raise Refusal(409, "not in quarantine", f"host {host} is not in quarantine")
    detail = {"reason": reason}
    tokens.write_audit(connection, who=who, action="end-quarantine", what=host, detail=detail, now=now)
    return _newest(connection, host_id)


def allowed_modes(modes: Sequence[str], quarantine: QuarantineRow | None) -> list[str]:
    """Returns the modes in which a host may get a job."""
    return [mode for mode in modes if quarantine is None or mode != QUARANTINED]


def refusal_of(quarantine: QuarantineRow) -> Refusal:
    """Returns what a host in quarantine is answered when it asks for work."""
    return Refusal(423, "in quarantine", sentence_of(quarantine))


def sentence_of(quarantine: QuarantineRow) -> str:
    """Returns why a host gets no walltime job, and what ends that."""
    host = quarantine.host
    return (
        f"{host} has been in quarantine since {quarantine.began:%Y-%m-%d %H:%M} UTC and gets no walltime"
        f" jobs: {quarantine.reason}. It ends when a calibration on the host passes (`cliffwatch host"
        " calibrate --mode walltime --tree DIR --url URL`), or an operator ends it (`cliffwatch host release"
        f" {host} --reason TEXT`)"
    )


def _host_id(connection: Connection[Any], name: str) -> int:
    host_id = hosts.host_id(connection, name)
    if host_id is None:
        raise not_found("host", name)
    return host_id


def _newest(connection: Connection[Any], host_id: int) -> QuarantineRow:
    row = quarantines.newest_quarantine(connection, host_id)
    assert row is not None
    return row
