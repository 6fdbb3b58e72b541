"""Whatever comes in, a verdict with a reason comes out; and what must not matter does not."""

import math
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from arms import CONTROL, INT_GET, SEQ_GET, arm, exact, noisy
from hypothesis import example, given
from hypothesis import strategies as st

from cliffwatch.comparing.compare import compare
from cliffwatch.comparing.comparison import ComparisonSet
from cliffwatch.comparing.thresholds import Method
from cliffwatch.failure import Failure
from cliffwatch.formats.comparison import ComparisonRow
from cliffwatch.parsers.received.opening import read_text
from cliffwatch.parsers.received.unpacking import LARGEST_BYTES
from cliffwatch.reports.context import NO_CONTEXT
from cliffwatch.reports.json_report import json_report
from cliffwatch.reports.text import text_report
from cliffwatch.samples import Arm

APART = Method(one_run=False)


def compared_rows(sides: Sequence[Arm]) -> tuple[ComparisonRow, ...]:
    base, head = sides
    compared = compare(base, head, noisy, APART)
    assert isinstance(compared, ComparisonSet)
    return compared.rows


def told(base: list[float], head: list[float], method: Method = APART) -> ComparisonRow:
    compared = compare(arm("base", {SEQ_GET: base}), arm("head", {SEQ_GET: head}), noisy, method)
    assert isinstance(compared, ComparisonSet)
    (row,) = compared.rows
    return row


@pytest.mark.parametrize(
    ("base", "head", "verdict", "reason"),
    [
        ([5.0] * 10, [5.0] * 10, "unchanged", "ruled out"),
        ([5.0] * 10, [6.0] * 10, "regression", "q = "),
        ([1.0], [2.0], "inconclusive", "1 boot is too few"),
        ([1.0] * 6, [], "missing", "head did not measure it"),
        ([1.0, math.nan, 1.0], [1.0] * 3, "invalid", "no finite number"),
        ([1.0, math.inf, 1.0], [1.0] * 3, "invalid", "no finite number"),
        ([0.0] * 5, [0.0] * 5, "unchanged", "zero on both sides"),
        ([0.0] * 5, [1.0] * 5, "regression", "0 -> 1 ns/op: a change from or to zero has no percentage"),
        ([-1.0] * 5, [1.0] * 5, "regression", "-1 -> 1 ns/op: a change across zero has no percentage"),
        ([1e-300] * 8, [1e300] * 8, "invalid", "not of one thing measured"),
    ],
)
def test_odd_samples_get_a_verdict_with_a_reason(
    base: list[float], head: list[float], verdict: str, reason: str
) -> None:
    row = told(base, head)

    assert row.verdict == verdict
    assert reason in row.reason


def test_two_kernels_in_one_arm_are_told_as_two_modes() -> None:
    mixed = [*np.linspace(99.9, 100.1, 6), *np.linspace(199.9, 200.1, 6)]
    row = told(list(np.linspace(99.9, 100.1, 12)), mixed)

    assert row.verdict == "inconclusive"
    assert "two modes" in row.notes[0]


def test_sides_with_different_units_are_invalid_and_name_them() -> None:
    head = arm("head", {SEQ_GET: [1.0]})
    (boot,) = head.boots
    micro = replace(boot, samples=(boot.samples[0]._replace(unit="us/op"),))
    compared = compare(arm("base", {SEQ_GET: [1.0]}), replace(head, boots=(micro,)), exact)

    assert isinstance(compared, ComparisonSet)
    assert {row.verdict for row in compared.rows} == {"invalid"}
    assert compared.rows[0].reason == "the sides have different units: ns/op and us/op"


def test_nothing_at_all_compares_to_nothing() -> None:
    compared = compare(arm("base", {}), arm("head", {}), noisy)

    assert isinstance(compared, ComparisonSet)
    assert text_report(compared, NO_CONTEXT, colour=False).startswith("nothing was compared")


def test_a_file_that_is_too_large_is_refused_rather_than_cut(tmp_path: Path) -> None:
    file = tmp_path / "huge.txt"
    with file.open("wb") as stream:
        stream.truncate(LARGEST_BYTES + 1)
    refused = read_text(file)

    assert isinstance(refused, Failure)
    assert "larger than 64 MiB" in refused.message


numbers = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True), st.sampled_from([0.0, -1.0, 1.0, 1e308, 5e-324])
)


# The logarithms of these sides lie farther apart than a float can be large: their change overflowed.
@example([-1.0, math.nan, -1.0, 6e16, 1.0, 7e16, 1e308, 1e308, 2e79], [6.5e16, 8e206, 1e-287], False)
@given(st.lists(numbers, max_size=12), st.lists(numbers, max_size=12), st.booleans())
def test_no_samples_make_a_traceback_or_a_number_that_is_none(
    base: list[float], head: list[float], one_run: bool
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sides = arm("base", {SEQ_GET: base}), arm("head", {SEQ_GET: head})
        for traits in (noisy, exact):
            compared = compare(*sides, traits, Method(one_run=one_run))
            assert isinstance(compared, ComparisonSet)
            json_report(compared, NO_CONTEXT)
            text_report(compared, NO_CONTEXT, colour=False)
            assert all(row.reason for row in compared.rows)


boots = st.lists(st.floats(50, 200), min_size=5, max_size=10)


@given(boots, boots)
def test_exchanging_the_sides_mirrors_the_verdict(first: list[float], second: list[float]) -> None:
    there, back = told(first, second), told(second, first)
    mirrored = {"regression": "improvement", "improvement": "regression"}

    assert back.verdict == mirrored.get(there.verdict, there.verdict)
    assert there.change is not None
    assert back.change is not None
    assert (1 + there.change) * (1 + back.change) == pytest.approx(1)


@given(boots, boots, st.floats(1e-6, 1e6))
def test_another_unit_changes_no_verdict(first: list[float], second: list[float], factor: float) -> None:
    rounded = [[float(f"{value:.9g}") for value in side] for side in (first, second)]
    plain = told(*rounded)
    scaled = told(*([value * factor for value in side] for side in rounded))

    assert scaled.change == pytest.approx(plain.change, rel=1e-6, abs=1e-9)
    assert (scaled.mde is None) == (plain.mde is None)
    assert plain.mde is None or scaled.mde == pytest.approx(plain.mde, rel=1e-3, abs=1e-9)


@given(boots, boots, st.randoms(use_true_random=False))
def test_the_order_of_boots_changes_nothing(first: list[float], second: list[float], random: object) -> None:
    """Boots say themselves when they were."""
    sides = arm("base", {SEQ_GET: first}), arm("head", {SEQ_GET: second})
    shuffled = []
    for side in sides:
        boots = list(side.boots)
        random.shuffle(boots)  # type: ignore[attr-defined]
        shuffled.append(replace(side, boots=tuple(boots)))

    (plain,), (other,) = (compared_rows(pair) for pair in (sides, shuffled))
    assert (plain.verdict, plain.p, plain.change) == (other.verdict, other.p, pytest.approx(other.change))


@given(boots, boots, boots)
def test_an_unrelated_unchanged_metric_never_makes_a_flag(
    first: list[float], second: list[float], quiet: list[float]
) -> None:
    flagged = ("regression", "improvement")
    alone = told(first, second)
    compared = compare(
        arm("base", {SEQ_GET: first, INT_GET: quiet, CONTROL: quiet}),
        arm("head", {SEQ_GET: second, INT_GET: quiet, CONTROL: quiet}),
        noisy,
        APART,
    )

    assert isinstance(compared, ComparisonSet)
    assert alone.verdict in flagged or compared.rows[0].verdict not in flagged
    assert all(row.verdict not in flagged for row in compared.rows[1:])
