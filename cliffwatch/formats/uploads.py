"""Uploads from hosts to a service: run.json and the boots of a run."""

from typing import Any

import msgspec

from cliffwatch.formats.boot_record import BootRecord, Measured
from cliffwatch.formats.reading import convert_to
from cliffwatch.formats.run_reading import run_record_of
from cliffwatch.formats.run_record import RunRecord
from cliffwatch.formats.values import FreeJson, Name, Part
from cliffwatch.parsers.readings import Problem


class RunUpload(Part, frozen=True, kw_only=True):
    """The upload of a run.

    `host` is the name of the measuring host. `job` is the job that asked for it; null if none did.
    """

    host: Name
    record: RunRecord
    job: str | None = None


class BootUpload(Measured, frozen=True, kw_only=True):
    """All files of a boot in one document. `environment` is kept exactly as the runner wrote it."""

    boot: BootRecord
    environment: FreeJson = msgspec.field(default_factory=dict)


class _Sender(Part, frozen=True, kw_only=True):
    """The upload of a run with an unchecked record, which may be of an older version."""

    host: Name
    record: FreeJson
    job: str | None = None


def run_upload_of(raw: Any) -> RunUpload | Problem:
    """Reads the upload of a run from decoded JSON. Its run.json may have any version."""
    sender = convert_to(raw, _Sender)
    if isinstance(sender, Problem):
        return sender
    record = run_record_of(sender.record)
    if isinstance(record, Problem):
        return Problem(member=f"record.{record.member}".strip("."), reason=record.reason)
    return RunUpload(host=sender.host, record=record, job=sender.job)


def boot_upload_of(raw: Any) -> BootUpload | Problem:
    """Reads the upload of a boot from decoded JSON."""
    return convert_to(raw, BootUpload)
