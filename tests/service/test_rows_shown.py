"""What a row of the compare page says: values, unit, direction, its own threshold, and what its
bounds are.
"""

from datetime import UTC, datetime
from typing import Any

import pytest
from made_documents import made_row

from cliffwatch.formats.comparison import ComparisonRow
from cliffwatch.reports.several.across import Target, across
from cliffwatch_service.history.report_summary import tally
from cliffwatch_service.store.history.changes import ChangeKind, ChangeRow, ChangeState
from cliffwatch_service.web.compare.lines import table_row
from cliffwatch_service.web.layout.drawing import common_scale
from cliffwatch_service.web.layout.wording import interval_words, levels_of

SCALE = common_scale([], [0.05])


class Column:
    """A column as rows need it."""

    target = Target("amd-rome", "walltime", "amd-rome")
    notable = 0.01

    def __init__(self, *thresholds: float, mixed: bool = False) -> None:
        self.thresholds = thresholds or (self.notable,)
        self.mixed = mixed


def row(**changed: Any) -> ComparisonRow:
    usual = {
        "suite": "hashmap",
        "benchmark": "bpf-hashmap-lookup",
        "params": {},
        "metric": "lookups",
        "unit": "M ops/s",
        "better": "higher",
        "n_base": 8,
        "n_head": 8,
        "base": 6.593,
        "head": 6.109,
        "change": -0.0734,
        "ci_low": -0.0744,
        "ci_high": -0.0724,
        "p": 0.001,
        "mde": 0.01,
        "verdict": "regression",
    }
    return made_row(**(usual | changed))


def shown(column: Column, **changed: Any) -> Any:
    return table_row(across([[row(**changed)]])[0], [column], SCALE)


def test_a_row_says_its_metric_unit_direction_and_values() -> None:
    line = shown(Column())
    assert line.measure == "lookups in M ops/s, higher is better"
    (cell,) = line.cells
    assert cell.text == "▲ -7.34 % slower"
    assert cell.small == "6.593 → 6.109; -7.44 .. -7.24 %; n 8"


@pytest.mark.parametrize("verdict", ["unchanged", "inconclusive"])
def test_values_are_shown_of_what_is_not_told_too(verdict: str) -> None:
    (cell,) = shown(Column(), verdict=verdict, ci_low=-0.01, ci_high=0.01).cells
    assert cell.small.startswith("6.593 → 6.109")


def test_a_row_with_one_side_says_what_that_side_read() -> None:
    (cell,) = shown(Column(), verdict="failed", head=None, change=None, reason="it crashed").cells
    assert cell.small == "6.593 → -; it crashed"


def test_what_is_told_has_its_colour_however_small_it_is() -> None:
    """Also below what base differed from itself by: every other format tells it as well."""
    (cell,) = shown(Column(), change=-0.0101, ci_low=-0.0102, ci_high=-0.01).cells
    assert cell.kind == "worse"
    assert "noise floor" not in cell.small


def test_each_row_is_drawn_over_its_own_threshold() -> None:
    column = Column(0.002, 0.01)
    assert [shown(column, threshold=own, interval_level=None).cells[0].ground for own in (0.002, 0.01)] == [
        "0-0",
        "0-1",
    ]


@pytest.mark.parametrize(
    ("stored", "words"),
    [
        ({"threshold": 0.01, "interval_level": 0.99}, "99 % interval"),
        ({"threshold": 0.002, "interval_level": None}, "run-to-run noise"),
    ],
)
def test_bounds_are_called_what_they_are(stored: dict[str, Any], words: str) -> None:
    assert [interval_words(level) for level in levels_of([row(**stored)])] == [words]


def test_where_a_column_has_both_kinds_of_bounds_each_row_says_its_own() -> None:
    counted, noisy = {"threshold": 0.01, "interval_level": None}, {"threshold": 0.01, "interval_level": 0.99}
    assert levels_of([row(**counted), row(**noisy), row(**counted, ci_low=None, ci_high=None)]) == (
        0.99,
        None,
    )
    assert "(run-to-run noise)" in shown(Column(mixed=True), **counted).cells[0].small
    assert "(99 % interval)" in shown(Column(mixed=True), **noisy).cells[0].small


def change(metric: str, size: float, kind: ChangeKind, state: ChangeState = "confirmed") -> ChangeRow:
    return ChangeRow(
        id=1,
        digest="1" * 32,
        state=state,
        kind=kind,
        size=size,
        ci_low=None,
        ci_high=None,
        base_value=None,
        head_value=None,
        apart=False,
        found=datetime(2026, 11, 21, tzinfo=UTC),
        series="2" * 32,
        suite="local-storage",
        benchmark="local-storage-cache-seq-get",
        params=[["nr_maps", "16"]],
        metric=metric,
        unit="ns/op" if metric.endswith("latency") else "M ops/s",
        platform="amd-rome",
        mode="icount",
        base="b" * 40,
        head="a" * 40,
        head_subject=None,
        report=None,
        fresh_change=None,
        fresh_low=None,
        fresh_high=None,
        fresh_mde=None,
        waits_for=None,
        located_in=None,
    )


def test_a_report_counts_worse_and_better_apart_and_no_throughput_beside_its_latency() -> None:
    counts = tally(
        [
            change("hits-latency", 0.05, "regression"),
            change("hits-throughput", -0.07, "regression"),
            change("hits-latency", 0.02, "regression"),
            change("hits-latency", -0.03, "improvement"),
            change("hits-latency", 0.9, "regression", "refuted"),
            change("hits-latency", 0.8, "regression", "superseded"),
        ]
    )
    assert counts.words == "2 slower (up to 5.0 % more instructions), 1 faster (3.0 % fewer instructions)"
    assert (counts.worse, counts.worst, counts.derived) == (2, 0.05, 1)


def test_changes_of_nothing_that_decides_are_counted_all_the_same() -> None:
    alone = tally([change("hits-throughput", -0.07, "regression")])
    assert (alone.worse, alone.words) == (1, "1 slower (7.0 % less)")
