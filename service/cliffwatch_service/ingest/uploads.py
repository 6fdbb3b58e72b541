"""Uploads as their types (cliffwatch.formats), and what a service asks of them besides: units that it knows, times that a clock shows."""

from collections.abc import Callable, Collection, Sequence
from datetime import datetime

import orjson

from cliffwatch.formats.boot_record import SampleRecord
from cliffwatch.formats.reading import Wrong
from cliffwatch.formats.uploads import BootUpload, RunUpload, boot_upload_of, run_upload_of
from cliffwatch.formats.values import FreeJson
from cliffwatch.parsers.bench.kinds import KIND_METRICS
from cliffwatch_service.ingest.free_form import in_time
from cliffwatch_service.refusal import Refusal

UNITS = frozenset(shape.unit for shapes in KIND_METRICS.values() for shape in shapes.values())


def run_upload(raw: FreeJson) -> RunUpload:
    """Raises Refusal with the place of what is wrong."""
    upload = run_upload_of(raw)
    if isinstance(upload, Wrong):
        raise refused(upload)
    time_of(upload.record.created, "record.created")
    return upload


def boot_upload(raw: FreeJson) -> BootUpload:
    """Raises Refusal with the place of what is wrong."""
    upload = boot_upload_of(raw)
    if isinstance(upload, Wrong):
        raise refused(upload)
    for name in ("began", "ended"):
        time_of(getattr(upload.boot, name), f"boot.{name}")
    return upload


def as_sent(document: FreeJson) -> FreeJson:
    """A document as hosts send it and as it is stored: members, a case's parameters among them, in the order of their names."""
    sent: FreeJson = orjson.loads(orjson.dumps(document, option=orjson.OPT_SORT_KEYS))
    return sent


def refuse_unknown_units(samples: Sequence[SampleRecord], programs: Callable[[], Collection[str]]) -> None:
    """Raises Refusal for a unit that bench does not print; `programs` are the suites whose own program measured, which may print any."""
    unknown = [(index, each) for index, each in enumerate(samples) if each.unit not in UNITS]
    suites = programs() if unknown else ()
    index = next((index for index, each in unknown if each.suite not in suites), None)
    if index is not None:
        raise refused(Wrong(f"samples.{index}.unit", f"unknown unit; known are {', '.join(sorted(UNITS))}"))


def refused(wrong: Wrong) -> Refusal:
    where = wrong.where[:200] or "the document"
    message = wrong.message[:300]
    return Refusal(422, "invalid request", f"{where}: {message}", errors=[(where, message)])


def time_of(text: str, where: str) -> datetime:
    """A document's time. Raises Refusal where it is none that a clock could show, or has no offset."""
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            raise ValueError("a time without its offset: send it as 2026-11-21T10:00:00+00:00")  # noqa: TRY301 - as the others
        return in_time(moment)
    except ValueError as error:
        raise refused(Wrong(where, str(error))) from None
