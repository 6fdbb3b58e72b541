"""Boots that read nothing: left out where they are few, a reason not to judge where they are many."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from arms import INT_GET, SEQ_GET, arm, noisy

from cliffwatch.comparing.compare import compare
from cliffwatch.comparing.comparison import ComparisonSet
from cliffwatch.formats.comparison import ComparisonRow
from cliffwatch.samples import CaseOutcome

BOOTS = 21


def boots(seed: int, centre: float, odd: Sequence[float] = ()) -> list[float]:
    values = centre * np.exp(np.random.default_rng(seed).normal(0, 0.003, BOOTS))
    return [*map(float, values[len(odd) :]), *odd]


def judged(base: Sequence[float], head: Sequence[float]) -> ComparisonSet:
    """The rows, of which the second is steady."""
    compared = compare(
        arm("base", {SEQ_GET: base, INT_GET: boots(3, 25)}, mode="walltime"),
        arm("head", {SEQ_GET: head, INT_GET: boots(4, 25)}, mode="walltime"),
        noisy,
    )
    assert isinstance(compared, ComparisonSet)
    return compared


def first(base: Sequence[float], head: Sequence[float]) -> ComparisonRow:
    return judged(base, head).rows[0]


def test_one_zero_hides_no_change() -> None:
    row = first(boots(1, 30), boots(2, 39, [0.0]))
    assert (row.verdict, row.n_base, row.n_head) == ("regression", 21, 20)
    assert row.change == pytest.approx(0.3, abs=0.01)
    assert row.notes == ("1 of 21 boots of head read 0 and is left out",)


@pytest.mark.parametrize(
    ("odd", "words"),
    [([0.0] * 4, "read 0 and are left out"), ([0.0, math.nan], "read no number and are left out")],
)
def test_a_few_of_either_side_are_left_out_and_counted(odd: list[float], words: str) -> None:
    row = first(boots(1, 30, odd), boots(2, 39))
    assert (row.verdict, row.n_base) == ("regression", 21 - len(odd))
    assert row.notes == (f"{len(odd)} of 21 boots of base {words}",)


def test_more_than_one_in_five_make_the_rest_a_selection() -> None:
    row = first(boots(1, 30), boots(2, 39, [0.0] * 5))
    assert (row.verdict, row.reason) == (
        "invalid",
        "head read 0 in 5 of 21 boots: the others are a selection",
    )
    assert row.notes == ()


def test_boots_that_failed_outright_count_with_those_that_read_zero() -> None:
    """Head failed in one boot besides the 21 that gave a value."""
    once = [CaseOutcome(case=SEQ_GET, status="failed", reason="died")]
    well = [CaseOutcome(case=SEQ_GET, status="ok")]
    head = arm("head", {SEQ_GET: boots(2, 39, [0.0] * 4)}, mode="walltime", outcomes=well)
    died = arm("head", {}, mode="walltime", outcomes=once)
    both = compare(
        arm("base", {SEQ_GET: boots(1, 30)}, mode="walltime"),
        replace(head, boots=(*head.boots, *died.boots)),
        noisy,
    )
    assert isinstance(both, ComparisonSet)
    assert both.rows[0].reason == "head read 0 in 4 of 21 boots: the others are a selection"


def test_a_metric_that_is_zero_has_a_change_without_a_percentage() -> None:
    row = first([0.0] * 21, boots(2, 39))
    assert (row.verdict, row.change, row.ci_low, row.mde) == ("regression", None, None, None)
    assert first([0.0] * 21, [0.0] * 21).reason == "zero on both sides"
    assert first([0.0] * 21, [0.0] * 20 + [3.0]).verdict == "invalid"


def test_the_mean_has_the_row_again() -> None:
    (mean,) = judged(boots(1, 30), boots(2, 39, [0.0])).means
    assert mean.rows == 2
