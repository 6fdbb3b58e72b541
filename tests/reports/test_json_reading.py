"""Comparison JSON is read back as it was written."""

import json
from dataclasses import replace
from typing import Any

import pytest
from arms import INT_GET, SEQ_GET, arm, exact, noisy

from cliffwatch.comparing.compare import compare
from cliffwatch.comparing.comparison import ComparisonSet
from cliffwatch.formats.comparison import ComparisonDocument
from cliffwatch.formats.reading import read_as
from cliffwatch.reports.context import NO_CONTEXT
from cliffwatch.reports.json_reading import comparison_set_of
from cliffwatch.reports.json_report import comparison_row, json_report
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
    document = read_as(json.dumps(content).encode(), ComparisonDocument)
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
    rows = tuple(map(comparison_row, compared.rows))
    assert read(written("walltime")) == replace(compared, rows=rows, waiting=(), next_look=0)
