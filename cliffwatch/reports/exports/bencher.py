"""Writes one arm in Bencher Metric Format.

Summarises its boots: the format has one value per benchmark and measure.

Benchmarks are named `BPF/suite=SUITE/bench=NAME/PARAM=VALUE` with percent-encoded parts, measures `METRIC
(UNIT)`. Bencher creates measures of these names, and `bencher.parse_bencher` reads both names back.
"""

import json
import statistics
from array import array
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import quote

from cliffwatch.parsers.documents.bencher import OURS
from cliffwatch.samples import Arm, CaseKey

LONGEST_NAME = 1024
LONGEST_MEASURE = 64
"""Maximum number of characters that Bencher accepts."""


def format_bencher(arm: Arm) -> str:
    """Writes each metric's median over boots as its value.

    With two boots or more, the extremes are the bounds.
    """
    return "".join(bencher_pieces(arm))


def bencher_pieces(arm: Arm) -> Iterator[str]:
    """Yields the text of `format_bencher` case by case.

    Reads the boots once and keeps eight bytes per value.
    """
    values: dict[CaseKey, dict[str, array[float]]] = {}
    for boot in arm.boots:
        for sample in boot.samples:
            measures = values.setdefault(sample.case, {})
            measures.setdefault(f"{sample.metric} ({sample.unit})", array("d")).append(sample.value)
    between = "{\n"
    for case, measures in values.items():
        metrics = {measure: _metric(of_measure) for measure, of_measure in measures.items()}
        text = json.dumps({_name(case): metrics}, indent=1, allow_nan=False)
        yield between + text.removeprefix("{\n").removesuffix("\n}")
        between = ",\n"
    yield "\n}\n" if values else "{}\n"


def count_overlong_names(arm: Arm) -> int:
    """Counts the names of benchmarks and measures that are too long for Bencher."""
    samples = [sample for boot in arm.boots for sample in boot.samples]
    names = {_name(case) for case in {sample.case for sample in samples}}
    measures = {f"{sample.metric} ({sample.unit})" for sample in samples}
    return sum(len(name) > LONGEST_NAME for name in names) + sum(
        len(each) > LONGEST_MEASURE for each in measures
    )


def _name(case: CaseKey) -> str:
    params = "".join(f"/{_encode_value(name)}={_encode_value(value)}" for name, value in case.params)
    return f"{OURS}{_encode_value(case.suite)}/bench={_encode_value(case.benchmark)}{params}"


def _metric(values: Sequence[float]) -> Mapping[str, float]:
    centre = {"value": statistics.median(values)}
    return centre if len(values) < 2 else {**centre, "lower_value": min(values), "upper_value": max(values)}


def _encode_value(text: str) -> str:
    return quote(text, safe="._:+,()", errors="replace")
