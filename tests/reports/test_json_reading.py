"""Comparison JSON read back: what it says of each row, and what rows of older versions fall back on."""

import json

import pytest
from arms import INT_GET, SEQ_GET, arm, exact, noisy

from cliffwatch.comparing.compare import compare
from cliffwatch.comparing.comparison import ComparisonSet
from cliffwatch.reports.context import NO_CONTEXT
from cliffwatch.reports.json_reading import comparison_set_from_json
from cliffwatch.reports.json_report import json_report
from cliffwatch.samples import CaseKey, MetricTraits, Mode

STEADY = [100.0, 100.4, 99.7, 100.2, 99.9]


def written(mode: Mode) -> dict[str, list[dict[str, object]]]:
    """A document with one counted row and one noisy one under icount, two noisy ones in walltime."""

    def traits(case: CaseKey, *_: object) -> MetricTraits:
        return exact() if mode == "icount" and case == SEQ_GET else noisy()

    values = {SEQ_GET: STEADY, INT_GET: STEADY}
    compared = compare(arm("base", values, mode=mode), arm("head", values, mode=mode), traits)
    assert isinstance(compared, ComparisonSet)
    content: dict[str, list[dict[str, object]]] = json.loads(json_report(compared, NO_CONTEXT))
    return content


@pytest.mark.parametrize("mode", ["icount", "walltime"])
def test_thresholds_and_intervals_of_rows_come_back(mode: Mode) -> None:
    content = written(mode)
    rows = content["comparisons"]
    said = [(row["threshold"], row["interval_level"]) for row in rows]
    read = comparison_set_from_json(content, rows)

    assert [level for _, level in said] == [None if mode == "icount" else 0.9, 0.9]
    assert [(row.threshold, row.interval_level) for row in read.rows] == said


@pytest.mark.parametrize("mode", ["icount", "walltime"])
def test_rows_that_say_no_threshold_have_that_of_their_time(mode: Mode) -> None:
    """Whatever holds now: such documents are of thresholds of 0.2 % and 1 %."""
    content = written(mode)
    rows = content["comparisons"]
    for row in rows:
        del row["threshold"], row["interval_level"]
    read = comparison_set_from_json({**content, "notable": 0.002 if mode == "icount" else 0.01}, rows)

    first = (0.002, None) if mode == "icount" else (0.01, 0.99)
    assert [(row.threshold, row.interval_level) for row in read.rows] == [first, (0.01, 0.99)]


def test_old_rows_of_a_document_with_a_threshold_of_its_own_keep_it() -> None:
    content = written("icount")
    rows = content["comparisons"]
    for row in rows:
        del row["threshold"], row["interval_level"]
    read = comparison_set_from_json({**content, "notable": 0.03}, rows)

    assert [row.threshold for row in read.rows] == [0.03, 0.03]
