"""Reads uploads as their types (cliffwatch.formats), and checks their units and times."""

from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from typing import TypeVar

import msgspec

from cliffwatch.formats.boot_record import SampleRecord
from cliffwatch.formats.code.differences import CodeRecord
from cliffwatch.formats.reading import convert_to
from cliffwatch.formats.uploads import BootUpload, RunUpload, boot_upload_of, run_upload_of
from cliffwatch.formats.values import FreeJson, OfCase
from cliffwatch.parsers.bench.kinds import KIND_METRICS
from cliffwatch.parsers.per_operation import DROPS, INSTRUCTIONS
from cliffwatch.parsers.readings import Problem
from cliffwatch_service.ingest.free_form import in_time
from cliffwatch_service.refusal import Refusal

R = TypeVar("R", bound=OfCase)

UNITS = frozenset(
    (INSTRUCTIONS, DROPS, *(shape.unit for shapes in KIND_METRICS.values() for shape in shapes.values()))
)


def run_upload(raw: FreeJson) -> RunUpload:
    """Reads a run. Raises Refusal, which names the wrong part."""
    upload = run_upload_of(raw)
    if isinstance(upload, Problem):
        raise invalid_upload(upload)
    time_of(upload.record.created, "record.created")
    return upload


def boot_upload(raw: FreeJson) -> BootUpload:
    """Reads a boot. Raises Refusal, which names the wrong part.

    Sorts the parameters of cases by name, as in stored runs.
    """
    upload = boot_upload_of(raw)
    if isinstance(upload, Problem):
        raise invalid_upload(upload)
    for name in ("began", "ended"):
        time_of(getattr(upload.boot, name), f"boot.{name}")
    return msgspec.structs.replace(
        upload,
        samples=tuple(map(_in_order, upload.samples)),
        outcomes=tuple(map(_in_order, upload.outcomes)),
    )


def code_upload(raw: FreeJson) -> CodeRecord:
    """Reads code.json. Raises Refusal, which names the wrong part."""
    record = convert_to(raw, CodeRecord)
    if isinstance(record, Problem):
        raise invalid_upload(record)
    return record


def _in_order(of_case: R) -> R:
    names = list(of_case.params)
    in_order = sorted(names)
    if names == in_order:
        return of_case
    return msgspec.structs.replace(of_case, params={name: of_case.params[name] for name in in_order})


def refuse_unknown_units(samples: Sequence[SampleRecord], programs: Callable[[], Collection[str]]) -> None:
    """Raises Refusal for a unit that bench does not print.

    `programs` returns the suites that run a program of their own, which may print any unit.
    """
    unknown = [(index, each) for index, each in enumerate(samples) if each.unit not in UNITS]
    suites = programs() if unknown else ()
    index = next((index for index, each in unknown if each.suite not in suites), None)
    if index is not None:
        raise invalid_upload(
            Problem(
                member=f"samples.{index}.unit", reason=f"unknown unit; known are {', '.join(sorted(UNITS))}"
            )
        )


def invalid_upload(problem: Problem) -> Refusal:
    where = problem.member[:200] or "the document"
    message = problem.reason[:300]
    return Refusal(422, "invalid request", f"{where}: {message}", errors=[(where, message)])


def time_of(text: str, where: str) -> datetime:
    """Reads a document's time. Raises Refusal if it has no offset, or if no clock could show it."""
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            raise ValueError("a time without offset: send it as 2026-11-21T10:00:00+00:00")  # noqa: TRY301
        return in_time(moment)
    except ValueError as error:
        raise invalid_upload(Problem(member=where, reason=str(error))) from None
