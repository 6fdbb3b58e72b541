"""Verdicts: what is real, what is notable, and what could not be told."""

import math
from dataclasses import replace

import pytest
from arms import CONTROL, INT_GET, SEQ_GET, arm, exact, noisy

from cliffwatch.comparing.compare import compare
from cliffwatch.comparing.comparison import ComparisonSet
from cliffwatch.comparing.ordering import is_beyond_noise
from cliffwatch.comparing.thresholds import COUNTED, NOISY, Method
from cliffwatch.failure import Failure
from cliffwatch.formats.comparison import ComparisonRow
from cliffwatch.samples import CaseKey, CaseOutcome, MetricTraits


def only(compared: ComparisonSet | Failure) -> ComparisonRow:
    assert isinstance(compared, ComparisonSet)
    (row,) = compared.rows
    return row


def test_an_exact_change_beyond_the_notable_is_told_from_one_boot_each() -> None:
    row = only(compare(arm("base", {SEQ_GET: [185.787]}), arm("head", {SEQ_GET: [194.7]}), exact))

    assert row.verdict == "regression"
    assert row.change == pytest.approx(0.04797, abs=1e-5)
    assert (row.p, row.q) == (None, None)
    assert row.ci_low == pytest.approx(row.change - 0.0001)


def test_higher_is_an_improvement_where_higher_is_better() -> None:
    def rate(*_: object) -> MetricTraits:
        return MetricTraits(better="higher", assume="exact", repeatability=0.0001)

    assert (
        only(compare(arm("base", {SEQ_GET: [5.0]}), arm("head", {SEQ_GET: [5.1]}), rate)).verdict
        == "improvement"
    )


def test_equal_kernels_are_unchanged_and_the_row_says_what_it_could_have_seen() -> None:
    row = only(compare(arm("base", {SEQ_GET: [185.787]}), arm("head", {SEQ_GET: [185.79]}), exact))

    assert row.verdict == "unchanged"
    assert not is_beyond_noise(row)
    assert row.mde == 0.002


def test_a_real_change_below_the_threshold_is_unchanged_and_says_so() -> None:
    row = only(compare(arm("base", {SEQ_GET: [100.0]}), arm("head", {SEQ_GET: [100.1]}), exact))

    assert row.verdict == "unchanged"
    assert is_beyond_noise(row)
    assert "real, but below the threshold of 0.2%" in row.reason


def test_boots_that_differ_among_themselves_blur_the_row() -> None:
    row = only(compare(arm("base", {SEQ_GET: [100.0, 103.0]}), arm("head", {SEQ_GET: [102.0, 102.0]}), exact))

    assert row.verdict == "inconclusive"
    assert row.reason == "boots of one kernel that differ: up to 3.00%; measure longer"
    assert row.mde == pytest.approx(0.03)


def test_a_step_of_the_printed_digits_is_no_change_and_rules_none_out() -> None:
    base = arm("base", {SEQ_GET: [0.436]}, resolution=0.001)
    head = arm("head", {SEQ_GET: [0.437]}, resolution=0.001)

    assert only(compare(base, head, exact)).verdict == "inconclusive"
    assert only(compare(base, head, exact, Method(notable=0.01))).verdict == "unchanged"


def test_readings_that_disagree_within_a_boot_blur_the_row() -> None:
    base, head = arm("base", {SEQ_GET: [0.798]}), arm("head", {SEQ_GET: [0.803]})
    (boot,) = base.boots
    restless = replace(boot, samples=(boot.samples[0]._replace(readings=(0.804, 0.792)),))
    row = only(compare(replace(base, boots=(restless,)), head, exact))

    assert row.verdict == "inconclusive"
    assert row.mde == pytest.approx(0.0075, rel=0.01)


FAST = [100.0, 100.4, 99.7, 100.2, 99.9]


def test_noisy_values_need_boots_on_both_sides() -> None:
    row = only(
        compare(
            arm("base", {SEQ_GET: FAST[:3]}),
            arm("head", {SEQ_GET: [110.0, 111.0, 110.5]}),
            noisy,
            Method(notable=0.01),
        )
    )

    assert row.verdict == "inconclusive"
    assert (
        row.reason
        == "3 boots per kernel are too few to decide among 1 row: 5 are the least; about 7 boots per kernel"
        " would decide (5 to 31)"
    )
    assert row.needs == 7


def test_a_clear_noisy_change_is_a_regression_with_its_interval() -> None:
    slow = [value * 1.05 for value in FAST]
    row = only(compare(arm("base", {SEQ_GET: FAST}), arm("head", {SEQ_GET: slow}), noisy))

    assert row.verdict == "regression"
    assert row.change == pytest.approx(0.05, abs=0.002)
    assert row.p == pytest.approx(2 / math.comb(10, 5))
    assert row.ci_low is not None
    assert row.ci_high is not None
    assert row.ci_low < 0.05 < row.ci_high


def test_unchanged_is_claimed_only_where_a_notable_change_is_ruled_out() -> None:
    steady = only(compare(arm("base", {SEQ_GET: FAST}), arm("head", {SEQ_GET: FAST}), noisy))
    wide = [90.0, 95.0, 100.0, 105.0, 110.0]
    unsteady = only(compare(arm("base", {SEQ_GET: wide}), arm("head", {SEQ_GET: wide}), noisy))

    assert steady.verdict == "unchanged"
    assert unsteady.verdict == "inconclusive"
    assert "boots per kernel would decide" in unsteady.reason


def test_the_more_rows_the_stricter_each() -> None:
    """The least p of five boots against five is 0.008: enough alone, not enough among two."""
    slow = [value * 1.05 for value in FAST]
    compared = compare(
        arm("base", {SEQ_GET: FAST, INT_GET: FAST}), arm("head", {SEQ_GET: slow, INT_GET: FAST}), noisy
    )

    assert isinstance(compared, ComparisonSet)
    assert [row.verdict for row in compared.rows] == ["inconclusive", "unchanged"]
    assert compared.rows[0].q == pytest.approx(4 / math.comb(10, 5))


def test_a_case_that_only_one_side_has_is_missing() -> None:
    compared = compare(arm("base", {SEQ_GET: [1.0], INT_GET: [1.0]}), arm("head", {SEQ_GET: [1.0]}), exact)

    assert isinstance(compared, ComparisonSet)
    row = compared.rows[1]
    assert (row.verdict, row.reason, row.n_head, row.head) == ("missing", "head did not measure it", 0, None)


def test_a_case_that_failed_says_why() -> None:
    outcome = CaseOutcome(case=INT_GET, status="panic", reason="the kernel panicked while it ran")
    compared = compare(
        arm("base", {SEQ_GET: [1.0], INT_GET: [1.0]}),
        arm("head", {SEQ_GET: [1.0]}, outcomes=[outcome]),
        exact,
    )

    assert isinstance(compared, ComparisonSet)
    assert (compared.rows[0].verdict, compared.rows[0].reason) == (
        "failed",
        "head: the kernel panicked while it ran",
    )


def test_a_kernel_that_does_not_build_fails_every_row() -> None:
    row = only(compare(arm("base", {SEQ_GET: [1.0]}), arm("head", {}, failure="it does not build"), exact))

    assert (row.verdict, row.reason) == ("failed", "head: it does not build")


def test_a_case_that_failed_on_both_sides_is_told_too() -> None:
    outcome = CaseOutcome(case=CONTROL, status="failed", reason="failed to load")
    row = only(compare(arm("base", {}, outcomes=[outcome]), arm("head", {}, outcomes=[outcome]), exact))

    assert (row.verdict, row.reason) == ("failed", "base: failed to load")


def test_modes_and_platforms_are_never_compared_across() -> None:
    compared = compare(arm("base", {SEQ_GET: [1.0]}), arm("head", {SEQ_GET: [1.0]}, mode="walltime"), exact)

    assert isinstance(compared, Failure)
    assert compared.message == "the two sides are of different modes: icount and walltime"


def noisy_where_named(case: CaseKey, *_: object) -> MetricTraits:
    return noisy() if case == INT_GET else exact()


def test_each_row_says_its_own_threshold_and_what_its_interval_is() -> None:
    values = {SEQ_GET: FAST, INT_GET: FAST}
    compared = compare(arm("base", values), arm("head", values), noisy_where_named)
    given = compare(arm("base", values), arm("head", values), noisy_where_named, Method(notable=0.03))

    assert isinstance(compared, ComparisonSet)
    assert isinstance(given, ComparisonSet)
    assert [(row.threshold, row.interval_level) for row in compared.rows] == [(COUNTED, None), (NOISY, 0.9)]
    assert [row.threshold for row in given.rows] == [0.03, 0.03]


def test_primary_and_secondary_rows_share_one_error() -> None:
    """Five boots apart reach 0.8 %: enough of the nine tenths that primary rows have, too little of the tenth
    that others have.
    """

    def traits(case: CaseKey, *_: object) -> MetricTraits:
        return MetricTraits(better="lower", assume="nothing", primary=case == SEQ_GET)

    apart = [30.0, 30.1, 30.2, 30.3, 30.4], [33.0, 33.1, 33.2, 33.3, 33.4]
    base, head = (
        arm(name, {SEQ_GET: values, INT_GET: values})
        for name, values in zip(("base", "head"), apart, strict=True)
    )

    compared = compare(base, head, traits)

    assert isinstance(compared, ComparisonSet)
    first, second = compared.rows
    assert (first.verdict, second.verdict) == ("regression", "inconclusive")
    assert first.q == pytest.approx(2 / 252 / 0.9)
    assert second.q == pytest.approx(2 / 252 / 0.1)
