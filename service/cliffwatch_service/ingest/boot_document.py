"""Packs what a boot holds besides its samples, and puts the uploaded boot together again.

Samples are stored in columns of numbers. The rest is JSON under zstd:

- boot.json, the environment and the problems,
- outcomes that say more than that the case was measured,
- per sample its resolution, and its readings (null if the sample is the only one).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec
import numpy as np
import orjson
import zstandard
from numpy.typing import NDArray

from cliffwatch.columns import BootsOfColumns, BootTable, RowKey
from cliffwatch.columns import Columns as SampleColumns
from cliffwatch.formats.boot_record import PartRecord, SampleRecord, sample_record
from cliffwatch.formats.reading import as_json, convert_to, decode
from cliffwatch.formats.uploads import BootUpload
from cliffwatch.formats.values import FreeJson, OfCase, OutcomeRecord, Part, Stage, outcome_record
from cliffwatch.parsers.readings import Problem
from cliffwatch.samples import Boot, CaseKey, CaseOutcome, Sample
from cliffwatch_service.ingest.free_form import plain_text

PlainKey = tuple[str, str, tuple[tuple[str, str], ...]]
"""Suite, benchmark and parameters."""

_LEVEL = 3

P = TypeVar("P", bound=Part)


def plain_key(of_case: OfCase) -> PlainKey:
    """Returns the case as a plain tuple, which equals its key.

    An upload has thousands of cases, and a named tuple takes three times as long to make.
    """
    return (of_case.suite, of_case.benchmark, tuple(of_case.params.items()))


def pack_content(content: bytes) -> bytes:
    return zstandard.ZstdCompressor(level=_LEVEL).compress(content)


def unpack_content(content: bytes) -> bytes:
    return zstandard.ZstdDecompressor().decompress(content)


def unpacked_size(head: bytes) -> int:
    """Returns the unpacked size of packed content, from its first bytes."""
    return zstandard.frame_content_size(head)


def pack(raw: FreeJson, upload: BootUpload, ordered: Sequence[SampleRecord]) -> bytes:
    """Packs a boot without its samples.

    `raw` is the upload as it came, `ordered` its samples in column order.
    """
    measured = {plain_key(each) for each in ordered}
    content = {name: value for name, value in raw.items() if name not in ("samples", "outcomes")}
    content["outcomes"] = [
        as_json(msgspec.structs.replace(each, reason=plain_text(each.reason)))
        for each in upload.outcomes
        if each.status != "ok" or plain_key(each) not in measured
    ]
    content["readings"] = [None if each.readings == (each.value,) else each.readings for each in ordered]
    content["resolutions"] = [each.resolution for each in ordered]
    return pack_content(orjson.dumps(content))


class _ComparedBootRecord(Part, frozen=True, kw_only=True):
    """The part of boot.json that a comparison needs."""

    index: int
    block: int
    stage: Stage | None = None
    layout: str | None = None


class _PackedBoot(Part, frozen=True, kw_only=True):
    """A packed boot."""

    boot: _ComparedBootRecord
    outcomes: tuple[OutcomeRecord, ...]
    readings: tuple[tuple[float, ...] | None, ...]
    """Per sample, in column order; None if the sample is the only reading."""
    resolutions: tuple[float, ...]
    """Per sample, in column order."""


class ProblemAccount(Part, frozen=True, kw_only=True):
    """A line of output that could not be read."""

    line: int = 0
    text: str = ""
    reason: str = ""


class _ShownBootRecord(Part, frozen=True, kw_only=True):
    arm: str
    status: str
    parts: Any = ()


class _ShownBoot(Part, frozen=True, kw_only=True):
    """The part of a packed boot that a page shows."""

    boot: _ShownBootRecord
    outcomes: tuple[OutcomeRecord, ...]
    problems: Any = ()
    environment: FreeJson | None = None


@dataclass(frozen=True, slots=True)
class Columns:
    """What all boots with the same columns share."""

    keys: Sequence[RowKey]
    positions: Sequence[int]
    """Indexes into `keys`, in the plan's order of cases."""
    measured: Mapping[CaseKey, CaseOutcome]
    """The outcome `ok` of each case."""


def columns_of(keys: Sequence[RowKey], order: Mapping[CaseKey, int]) -> Columns:
    """Makes columns from their keys. `order` gives each case's place in the plan."""
    positions = sorted(range(len(keys)), key=lambda position: order.get(keys[position].case.planned, 0))
    return Columns(keys, positions, {key.case: CaseOutcome(case=key.case, status="ok") for key in keys})


def boot_of(document: bytes, columns: Columns, values: Sequence[float]) -> Boot:
    """Returns the boot for a comparison, with its samples in the plan's order."""
    stored = decode(unpack_content(document), _PackedBoot)
    samples = _samples(stored, columns.keys, values)
    return Boot(
        index=stored.boot.index,
        block=stored.boot.block,
        stage=stored.boot.stage or "screen",
        layout=stored.boot.layout,
        samples=tuple(samples[position] for position in columns.positions),
        outcomes=tuple(_outcomes(stored.outcomes, columns.measured)),
    )


def _samples(stored: _PackedBoot, keys: Sequence[RowKey], values: Sequence[float]) -> list[Sample]:
    """Returns the samples in column order."""
    return [
        Sample(*key, value, (value,) if readings is None else readings, resolution)
        for key, value, readings, resolution in zip(
            keys, values, stored.readings, stored.resolutions, strict=True
        )
    ]


def boots_of(arm: Sequence[tuple[bytes, Columns, Sequence[float]]]) -> Sequence[Boot]:
    """Returns the boots of an arm for a comparison, from the document, columns and values of each.

    Usually all boots have the same columns: their values then form one array. Otherwise boots are objects.
    """
    if not arm or any(columns is not arm[0][1] for _, columns, _ in arm):
        return tuple(boot_of(*each) for each in arm)
    stored = [decode(unpack_content(document), _PackedBoot) for document, _, _ in arm]
    columns = arm[0][1]
    measured = _measured(stored, columns, np.array([values for _, _, values in arm], dtype=float))
    good = tuple(columns.measured.values())
    outcomes = [
        tuple(_outcomes(each.outcomes, columns.measured)) if each.outcomes else good for each in stored
    ]
    return BootsOfColumns(measured, np.repeat(np.arange(len(columns.keys)), len(arm)), outcomes)


def _measured(stored: Sequence[_PackedBoot], columns: Columns, values: NDArray[np.float64]) -> SampleColumns:
    """Returns the samples of boots as columns. `values` has the shape (boots, columns)."""
    boots, count = len(stored), len(columns.keys)
    positions = np.array(columns.positions, dtype=np.intp)
    resolutions = np.array([each.resolutions for each in stored], dtype=float)
    in_order = values.reshape(boots, count)[:, positions].T
    readings = [
        (value,) if stored[boot].readings[position] is None else stored[boot].readings[position] or ()
        for position, of_row in zip(columns.positions, in_order.tolist(), strict=True)
        for boot, value in enumerate(of_row)
    ]
    return SampleColumns(
        boots=_table(stored),
        keys=[columns.keys[position] for position in columns.positions],
        starts=np.arange(count + 1) * boots,
        values=in_order.ravel(),
        resolutions=resolutions.reshape(boots, count)[:, positions].T.ravel(),
        places=np.tile(np.arange(boots), count),
        readings=readings,
    )


def _table(stored: Sequence[_PackedBoot]) -> BootTable:
    layouts = tuple(each.boot.layout for each in stored)
    return BootTable(
        index=np.array([each.boot.index for each in stored], dtype=int),
        block=np.array([each.boot.block for each in stored], dtype=int),
        confirms=np.array([each.boot.stage == "confirm" for each in stored], dtype=bool),
        layouts=layouts if any(layout is not None for layout in layouts) else (),
    )


def _outcomes(stored: Sequence[OutcomeRecord], measured: Mapping[CaseKey, CaseOutcome]) -> list[CaseOutcome]:
    if not stored:
        return list(measured.values())
    outcomes = [each.outcome for each in stored]
    known = {each.case for each in outcomes}
    return [*outcomes, *(outcome for case, outcome in measured.items() if case not in known)]


def upload_of(document: bytes, keys: Sequence[RowKey], values: Sequence[float]) -> FreeJson:
    """Returns the boot in the form of its upload, with its samples in column order."""
    text = unpack_content(document)
    stored = decode(text, _PackedBoot)
    content: FreeJson = orjson.loads(text)
    del content["readings"], content["resolutions"]
    outcomes = _outcomes(stored.outcomes, columns_of(keys, {}).measured)
    content["outcomes"] = [as_json(outcome_record(each)) for each in outcomes]
    content["samples"] = [as_json(sample_record(each)) for each in _samples(stored, keys, values)]
    return content


@dataclass(frozen=True, slots=True, kw_only=True)
class BootAccount:
    """What a boot records besides its samples."""

    arm: str
    status: str
    parts: Sequence[PartRecord]
    outcomes: Sequence[OutcomeRecord]
    problems: Sequence[ProblemAccount]
    environment: FreeJson


def account_of(document: bytes) -> BootAccount:
    """Reads the account of a boot. Skips parts that older hosts left out or sent in another form."""
    said = decode(unpack_content(document), _ShownBoot)
    return BootAccount(
        arm=said.boot.arm,
        status=said.boot.status,
        parts=_read(said.boot.parts, PartRecord),
        outcomes=said.outcomes,
        problems=_read(said.problems, ProblemAccount),
        environment=said.environment or {},
    )


def _read(content: Any, kind: type[P]) -> list[P]:
    entries = content if isinstance(content, list) else []
    return [entry for each in entries if not isinstance(entry := convert_to(each, kind), Problem)]
