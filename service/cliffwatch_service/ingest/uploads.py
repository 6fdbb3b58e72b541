"""Uploads as their types (cliffwatch.formats), and what a service asks of them besides: units that it knows, times that a clock shows."""

from datetime import datetime
from functools import cache

import orjson

from cliffwatch.catalogue.load import load_catalogue
from cliffwatch.formats.boot_record import SampleRecord
from cliffwatch.formats.reading import Wrong
from cliffwatch.formats.uploads import BootUpload, RunUpload, boot_upload_of, run_upload_of
from cliffwatch.formats.values import FreeJson
from cliffwatch.parsers.bench.kinds import KIND_METRICS
from cliffwatch_service.ingest.free_form import in_time
from cliffwatch_service.refusal import Refusal


@cache
def known_units() -> frozenset[str]:
    """Those of the kinds of lines that bench prints, and of what the catalogue's suites declare."""
    of_kinds = (shape.unit for shapes in KIND_METRICS.values() for shape in shapes.values())
    of_suites = (spec.unit for suite in load_catalogue().suites for spec in suite.metrics.values())
    return frozenset((*of_kinds, *of_suites))


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
    _refuse_unknown_units(upload.samples)
    return upload


def as_sent(document: FreeJson) -> FreeJson:
    """A document as hosts send it and as it is stored: members, a case's parameters among them, in the order of their names."""
    sent: FreeJson = orjson.loads(orjson.dumps(document, option=orjson.OPT_SORT_KEYS))
    return sent


def _refuse_unknown_units(samples: tuple[SampleRecord, ...]) -> None:
    unknown = {each.unit for each in samples} - known_units()
    if unknown:
        index = next(index for index, each in enumerate(samples) if each.unit in unknown)
        raise refused(Wrong(f"samples.{index}.unit", f"unknown unit; known are {', '.join(sorted(known_units()))}"))


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
