"""What a boot holds besides its samples, packed; and the boot as it was uploaded, put together again.

Samples lie in columns of numbers. Beside them, in JSON under zstd: boot.json, the environment, the problems, outcomes that say
more than that the case was measured, and per sample its readings (null where they are the sample alone) and resolution.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
import zstandard

from cliffwatch.results import case_to_json
from cliffwatch.samples import Boot, CaseKey, CaseOutcome, Sample
from cliffwatch_service.ingest.free_form import plain_text

Key = tuple[CaseKey, str, str]
"""Case, metric and unit of a column."""

_LEVEL = 3
_OUTCOME = ("suite", "benchmark", "params", "status", "reason")


def packed(content: bytes) -> bytes:
    return zstandard.ZstdCompressor(level=_LEVEL).compress(content)


def unpacked(content: bytes) -> bytes:
    return zstandard.ZstdDecompressor().decompress(content)


def unpacked_size(head: bytes) -> int:
    """Of a packed content whose first bytes are these."""
    return zstandard.frame_content_size(head)


def pack(raw: Mapping[str, Any], ordered: Sequence[Mapping[str, Any]]) -> bytes:
    """`raw` is the upload, `ordered` its samples in the order of their columns."""
    measured = {_case(each) for each in ordered}
    content = {name: value for name, value in raw.items() if name not in ("samples", "outcomes")}
    content["outcomes"] = [
        {**{name: each[name] for name in _OUTCOME}, "reason": plain_text(each["reason"])}
        for each in raw["outcomes"]
        if each["status"] != "ok" or _case(each) not in measured
    ]
    content["readings"] = [None if each["readings"] == [each["value"]] else each["readings"] for each in ordered]
    content["resolutions"] = [each["resolution"] for each in ordered]
    return packed(orjson.dumps(content))


def _case(row: Mapping[str, Any]) -> CaseKey:
    return CaseKey(row["suite"], row["benchmark"], tuple(row["params"].items()))


@dataclass(frozen=True, slots=True)
class Columns:
    """What is common to all boots of the same columns: their keys, the positions of them in the plan's order, and their cases."""

    keys: Sequence[Key]
    positions: Sequence[int]
    measured: Mapping[CaseKey, CaseOutcome]


def columns_of(keys: Sequence[Key], order: Mapping[CaseKey, int]) -> Columns:
    """`order` is the plan's order of cases."""
    positions = sorted(range(len(keys)), key=lambda position: order.get(keys[position][0], 0))
    return Columns(keys, positions, {key[0]: CaseOutcome(case=key[0], status="ok") for key in keys})


def boot_of(document: bytes, columns: Columns, values: Sequence[float]) -> Boot:
    """The boot for a comparison, its samples in the plan's order."""
    content = orjson.loads(unpacked(document))
    about = content["boot"]
    samples = [
        Sample(
            case=case,
            metric=metric,
            unit=unit,
            value=value,
            readings=(value,) if readings is None else tuple(readings),
            resolution=resolution,
        )
        for (case, metric, unit), value, readings, resolution in zip(
            columns.keys, values, content["readings"], content["resolutions"], strict=True
        )
    ]
    return Boot(
        index=about["index"],
        block=about["block"],
        stage="confirm" if about.get("stage") == "confirm" else "screen",
        layout=about.get("layout"),
        samples=tuple(samples[position] for position in columns.positions),
        outcomes=tuple(_outcomes(content, columns.measured)),
    )


def _outcomes(content: Mapping[str, Any], measured: Mapping[CaseKey, CaseOutcome]) -> list[CaseOutcome]:
    stored = [
        CaseOutcome(case=_case(each), status=each["status"], reason=each["reason"]) for each in content["outcomes"]
    ]
    if not stored:
        return list(measured.values())
    known = {each.case for each in stored}
    return [*stored, *(outcome for case, outcome in measured.items() if case not in known)]


def upload_of(document: bytes, keys: Sequence[Key], values: Sequence[float]) -> dict[str, Any]:
    """The boot in the form in which it was uploaded; its samples in the order of their columns."""
    content: dict[str, Any] = orjson.loads(unpacked(document))
    readings, resolutions = content.pop("readings"), content.pop("resolutions")
    content["outcomes"] = [
        {**case_to_json(each.case), "status": each.status, "reason": each.reason}
        for each in _outcomes(content, columns_of(keys, {}).measured)
    ]
    content["samples"] = [
        {
            **case_to_json(case),
            "metric": metric,
            "unit": unit,
            "value": value,
            "readings": [value] if of_sample is None else of_sample,
            "resolution": resolution,
        }
        for (case, metric, unit), value, of_sample, resolution in zip(keys, values, readings, resolutions, strict=True)
    ]
    return content
