"""Comparison JSON read back: what it says of each row, and what rows of older versions fall back on."""

import json
from dataclasses import replace
from typing import Any

import pytest
from arms import INT_GET, SEQ_GET, arm, exact, noisy

from cliffwatch.comparing.compare import compare
from cliffwatch.comparing.comparison import ComparisonSet
from cliffwatch.formats.comparison import ComparisonDocument
from cliffwatch.formats.comparison_reading import read_comparison
from cliffwatch.formats.reading import Wrong
from cliffwatch.reports.context import NO_CONTEXT
from cliffwatch.reports.json_reading import comparison_set_of
from cliffwatch.reports.json_report import json_report
from cliffwatch.samples import CaseKey, MetricTraits, Mode

STEADY = [100.0, 100.4, 99.7, 100.2, 99.9]


def comparison(mode: Mode) -> ComparisonSet:
    """One counted row and one noisy one under icount, two noisy ones in walltime."""

    def traits(case: CaseKey, *_: object) -> MetricTraits:
        return exact() if mode == "icount" and case == SEQ_GET else noisy()

    values = {SEQ_GET: STEADY, INT_GET: STEADY}
    compared = compare(arm("base", values, mode=mode), arm("head", values, mode=mode), traits)
    assert isinstance(compared, ComparisonSet)
    return compared


def written(mode: Mode) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(json_report(comparison(mode), NO_CONTEXT))
    return content


def read(content: dict[str, Any]) -> ComparisonSet:
    document = read_comparison(json.dumps(content).encode())
    assert isinstance(document, ComparisonDocument), document
    return comparison_set_of(document, document.comparisons)


@pytest.mark.parametrize("mode", ["icount", "walltime"])
def test_thresholds_and_intervals_of_rows_come_back(mode: Mode) -> None:
    content = written(mode)
    said = [(row["threshold"], row["interval_level"]) for row in content["comparisons"]]

    assert [level for _, level in said] == [None if mode == "icount" else 0.9, 0.9]
    assert [(row.threshold, row.interval_level) for row in read(content).rows] == said


def test_a_comparison_comes_back_as_it_was_but_for_what_no_document_has() -> None:
    compared = comparison("walltime")
    assert read(written("walltime")) == replace(compared, waiting=(), next_look=0)


def as_version_1(content: dict[str, Any], notable: float) -> dict[str, Any]:
    """What version 1 wrote of it before rows said their threshold."""
    names = ("threshold", "interval_level", "arm")
    rows = [
        {name: value for name, value in row.items() if name not in names} for row in content["comparisons"]
    ]
    sides = {
        arm["name"]: {"label": arm["label"], "boots": arm["boots"], **arm["facts"]} for arm in content["arms"]
    }
    left = {
        name: value for name, value in content.items() if name not in ("arms", "alpha", "platform", "mode")
    }
    return {**left, "format_version": 1, **sides, "notable": notable, "comparisons": rows}


@pytest.mark.parametrize("mode", ["icount", "walltime"])
def test_rows_that_say_no_threshold_have_that_of_their_time(mode: Mode) -> None:
    """Whatever holds now: such documents are of thresholds of 0.2 % and 1 %."""
    back = read(as_version_1(written(mode), 0.002 if mode == "icount" else 0.01))

    first = (0.002, None) if mode == "icount" else (0.01, 0.99)
    assert [(row.threshold, row.interval_level) for row in back.rows] == [first, (0.01, 0.99)]


def test_old_rows_of_a_document_with_a_threshold_of_its_own_keep_it() -> None:
    assert [row.threshold for row in read(as_version_1(written("icount"), 0.03)).rows] == [0.03, 0.03]


def test_a_document_of_version_1_says_the_same_of_its_sides() -> None:
    today, before = read(written("walltime")), read(as_version_1(written("walltime"), 0.01))

    assert (before.base, before.head, before.means) == (today.base, today.head, today.means)
    assert (before.platform, before.mode) == (today.platform, today.mode)


def test_breakpoints_of_sweeps_had_other_names_in_version_1() -> None:
    sweep = {"suite": "s", "benchmark": "b", "parameter": "nr_maps", "metric": "latency", "words": "flat"}
    before = as_version_1(written("walltime"), 0.01)
    before["sweeps"] = [sweep, {**sweep, "base_bend": [16, 17], "head_bend": None}]

    assert [(each.base_breakpoint, each.head_breakpoint) for each in read(before).sweeps] == [
        (None, None),
        ((16.0, 17.0), None),
    ]


def test_sweeps_of_older_documents_had_one_parameter_and_did_not_say_whether_the_sides_differ() -> None:
    sweep = {"suite": "s", "benchmark": "b", "parameter": "nr_maps", "metric": "latency", "words": "flat"}
    (before,) = read({**written("walltime"), "sweeps": [sweep]}).sweeps

    assert (before.fixed, before.differs) == ({}, None)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"{", "truncated"),
        (b"[]", "no object"),
        (b"{}", "no comparison"),
        (b'{"format": "cliffwatch-comparison", "format_version": 3}', "of format 3"),
        (b'{"format": "cliffwatch-comparison", "format_version": 1}', "not as version 1 was"),
        (b'{"format": "cliffwatch-comparison", "format_version": 2}', "method_version"),
        (b"[" * 100_000, "depth"),
    ],
)
def test_what_is_no_document_is_refused_with_a_reason(content: bytes, says: str) -> None:
    wrong = read_comparison(content)
    assert isinstance(wrong, Wrong)
    assert says in str(wrong)
