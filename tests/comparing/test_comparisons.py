"""Whole comparisons of noisy rows: control, surroundings, failures, drift, stages, means, sweeps, the empty
loop.
"""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from arms import CONTROL, INT_GET, SEQ_GET, arm, exact, noisy

from cliffwatch.comparing.compare import compare
from cliffwatch.comparing.comparison import ComparisonSet
from cliffwatch.comparing.loops.overhead import compare_less
from cliffwatch.comparing.thresholds import Method
from cliffwatch.failure import Failure
from cliffwatch.formats.comparison import ComparisonRow
from cliffwatch.samples import Arm, CaseKey, CaseOutcome
from cliffwatch.stats.stages import Look, Stages

STAGES = Stages(screen=8, screen_alpha=0.1, looks=(Look(boots=8, alpha=0.01),))


def values(seed: int, count: int, factor: float = 1.0, spread: float = 0.002) -> list[float]:
    return [
        float(value) for value in 100 * factor * np.exp(np.random.default_rng(seed).normal(0, spread, count))
    ]


def compared_set(answer: ComparisonSet | Failure) -> ComparisonSet:
    assert isinstance(answer, ComparisonSet)
    return answer


def row_of(compared: ComparisonSet, case: CaseKey) -> ComparisonRow:
    return next(row for row in compared.rows if row.case == case)


def staged(side: Arm, screen: int) -> Arm:
    """The boots after the first so many become those of the second stage."""
    boots = tuple(
        replace(boot, stage="screen" if number < screen else "confirm")
        for number, boot in enumerate(side.boots)
    )
    return replace(side, boots=boots)


def test_a_row_in_which_base_differs_from_itself_is_invalid() -> None:
    base = arm("base", {SEQ_GET: values(1, 12), INT_GET: values(2, 12)}, mode="walltime")
    head = arm("head", {SEQ_GET: values(3, 12, 1.05), INT_GET: values(4, 12, 1.05)}, mode="walltime")
    control = arm("control", {SEQ_GET: values(5, 12), INT_GET: values(6, 12, 1.05)}, mode="walltime")
    compared = compared_set(compare(base, head, noisy, control=control))

    assert row_of(compared, SEQ_GET).verdict == "regression"
    assert row_of(compared, INT_GET).verdict == "invalid"
    assert "base differs from itself" in row_of(compared, INT_GET).reason
    assert compared.control is not None
    assert (compared.control.rows, compared.control.published) == (2, 1)
    assert compared.control.largest == pytest.approx(0.05, abs=0.01)


def test_sides_of_different_environments_are_not_judged_and_what_differs_is_named() -> None:
    base = replace(arm("base", {SEQ_GET: [100.0]}), environment={"compiler": "gcc 12", "config": "abc"})
    head = replace(arm("head", {SEQ_GET: [200.0]}), environment={"compiler": "gcc 14", "config": "abc"})
    row = row_of(compared_set(compare(base, head, exact)), SEQ_GET)

    assert row.verdict == "invalid"
    assert row.reason == "measured in different environments: compiler: gcc 12 and gcc 14"


def test_a_case_that_fails_in_too_many_boots_failed() -> None:
    head = arm("head", {SEQ_GET: values(7, 10, 1.05)})
    failed = CaseOutcome(case=SEQ_GET, status="panic", reason="the kernel panicked while it ran")
    fine = CaseOutcome(case=SEQ_GET, status="ok")
    boots = tuple(
        replace(boot, outcomes=(failed,), samples=()) if number < 3 else replace(boot, outcomes=(fine,))
        for number, boot in enumerate(head.boots)
    )
    compared = compared_set(compare(arm("base", {SEQ_GET: values(8, 10)}), replace(head, boots=boots), noisy))
    row = row_of(compared, SEQ_GET)

    assert (row.verdict, row.reason) == (
        "failed",
        "head failed in 3 of 10 boots: the kernel panicked while it ran",
    )


def with_places(side: Arm, places: list[int]) -> Arm:
    return replace(
        side, boots=tuple(replace(boot, index=place) for boot, place in zip(side.boots, places, strict=True))
    )


def test_a_drift_hides_what_arms_differ_by_that_did_not_take_turns_and_is_noted_where_they_did() -> None:
    rising = [100 * (1 + 0.004 * place) for place in range(24)]
    shaky = [value * (1 + 0.001 * (place % 3)) for place, value in enumerate(rising)]
    first = with_places(arm("base", {SEQ_GET: shaky[:12]}), list(range(12)))
    after = with_places(arm("head", {SEQ_GET: shaky[12:]}), list(range(12, 24)))
    even = with_places(arm("base", {SEQ_GET: shaky[::2]}), list(range(0, 24, 2)))
    odd = with_places(arm("head", {SEQ_GET: shaky[1::2]}), list(range(1, 24, 2)))

    blocked = row_of(compared_set(compare(first, after, noisy)), SEQ_GET)
    interleaved = row_of(compared_set(compare(even, odd, noisy)), SEQ_GET)
    assert blocked.verdict == "inconclusive"
    assert blocked.reason.startswith("drift: ")
    assert blocked.ci_low is not None
    assert blocked.ci_low < 0
    assert interleaved.reason.startswith("drift") is False
    assert any("drifted" in note for note in interleaved.notes)


def test_two_modes_are_a_note_on_the_row() -> None:
    fast, slow = values(9, 12), values(10, 12, 1.05)
    mixed = [*fast[:6], *slow[:6]]
    row = row_of(
        compared_set(compare(arm("base", {SEQ_GET: fast}), arm("head", {SEQ_GET: mixed}), noisy)), SEQ_GET
    )

    assert row.notes == ("two modes, 4.9% apart: 0% of base's boots are slow, 50% of head's (p = 0.014)",)


def test_a_staged_run_says_which_cases_wait_and_how_many_boots_they_need() -> None:
    base = staged(arm("base", {SEQ_GET: values(11, 8), INT_GET: values(12, 8)}), 8)
    head = staged(arm("head", {SEQ_GET: values(13, 8, 1.05), INT_GET: values(14, 8)}), 8)
    compared = compared_set(compare(base, head, noisy, Method(stages=STAGES)))

    assert compared.waiting == (SEQ_GET,)
    assert compared.next_look == 8
    assert row_of(compared, SEQ_GET).verdict == "inconclusive"
    assert row_of(compared, INT_GET).verdict == "unchanged"


def test_a_confirmed_candidate_is_told_from_its_fresh_boots_alone() -> None:
    base = staged(arm("base", {SEQ_GET: [*values(15, 8), *values(16, 8)]}), 8)
    head = staged(arm("head", {SEQ_GET: [*values(17, 8, 1.09), *values(18, 8, 1.05)]}), 8)
    row = row_of(compared_set(compare(base, head, noisy, Method(stages=STAGES))), SEQ_GET)

    assert (row.verdict, row.n_base, row.n_head) == ("regression", 8, 8)
    assert row.change == pytest.approx(0.05, abs=0.005)


def test_a_mean_over_one_row_says_no_more_than_the_row() -> None:
    measured = {SEQ_GET: values(20, 10)}

    assert compared_set(compare(arm("base", measured), arm("head", measured), noisy)).means == ()


def test_runs_apart_are_not_compared_in_pairs() -> None:
    common = np.random.default_rng(19).normal(0, 0.03, 12)
    ours, theirs = (100 * np.exp(common + shift) for shift in (0, 0.012))
    sides = arm("base", {SEQ_GET: list(ours)}), arm("head", {SEQ_GET: list(theirs)})

    together, apart = (
        compared_set(compare(*sides, noisy, Method(notable=0.01, one_run=one_run)))
        for one_run in (True, False)
    )
    assert row_of(together, SEQ_GET).verdict == "regression"
    assert row_of(apart, SEQ_GET).verdict == "inconclusive"


def test_the_mean_has_an_interval_and_says_over_how_many_rows() -> None:
    measured = {SEQ_GET: values(20, 10), INT_GET: values(21, 10), CONTROL: values(22, 10)}
    slower = {case: [value * 1.02 for value in held] for case, held in measured.items()}
    (mean,) = compared_set(compare(arm("base", measured), arm("head", slower), noisy)).means

    assert mean.rows == 3
    assert mean.change == pytest.approx(0.02)
    assert mean.ci_low is not None
    assert mean.ci_high is not None
    assert mean.ci_low < 0.02 < mean.ci_high


def test_one_noisy_boot_has_no_mean_and_one_exact_boot_has() -> None:
    measured = {SEQ_GET: [100.0], INT_GET: [110.0]}
    slower = {case: [value * 1.1 for value in held] for case, held in measured.items()}
    sides = arm("base", measured), arm("head", slower)

    assert compared_set(compare(*sides, noisy)).means == ()
    (mean,) = compared_set(compare(*sides, exact)).means
    assert mean.change == pytest.approx(0.1)


def sweep(edge: int) -> dict[CaseKey, list[float]]:
    return {
        CaseKey("local-storage", "local-storage-cache-seq-get", (("nr_maps", str(maps)),)): [
            max(20.0, 20.0 * maps / edge)
        ]
        for maps in (1, 2, 4, 8, 16, 32, 64, 128)
    }


def test_a_cliff_that_moves_is_said_in_words() -> None:
    (moved,) = compared_set(compare(arm("base", sweep(16)), arm("head", sweep(32)), exact)).sweeps
    (same,) = compared_set(compare(arm("base", sweep(16)), arm("head", sweep(16)), exact)).sweeps

    assert (
        moved.words
        == "climbs from nr_maps 16 on (+100 % at 32); head: climbs from nr_maps 32 on (+100 % at 64)"
    )
    assert same.words == "climbs from nr_maps 16 on (+100 % at 32); unchanged in head"


def test_the_empty_loop_is_subtracted_and_its_spread_carried() -> None:
    base, head = arm("base", {SEQ_GET: [30.0]}), arm("head", {SEQ_GET: [32.0]})
    loop = arm("loop", {SEQ_GET: [9.0, 10.0, 11.0]})
    compared = compared_set(compare_less(base, head, loop, partial(compare, traits=exact)))
    row = row_of(compared, SEQ_GET)

    assert (row.base, row.head) == (20.0, 22.0)
    assert row.change == pytest.approx(0.1)
    assert row.ci_low == pytest.approx(2 / 21 - 0.0001)
    assert row.ci_high == pytest.approx(2 / 19 + 0.0001)


def test_a_row_that_only_the_confirming_boots_have_is_not_judged() -> None:
    base = staged(arm("base", {SEQ_GET: values(30, 8)}), 0)
    head = staged(arm("head", {SEQ_GET: values(31, 8, 1.05)}), 8)
    row = row_of(compared_set(compare(base, head, noisy, Method(stages=STAGES))), SEQ_GET)

    assert (row.verdict, row.reason) == ("inconclusive", "no boot of the screen has it on both sides")


def test_sides_that_computed_different_results_are_not_compared() -> None:
    base, head = arm("base", {SEQ_GET: [100.0]}), arm("head", {SEQ_GET: [50.0]})
    results = {
        side.name: arm(side.name, {SEQ_GET: [value]}, metric="retval", unit="result").boots[0].samples
        for side, value in ((base, 2.0), (head, 1.0))
    }
    both = [
        replace(
            side,
            boots=tuple(replace(boot, samples=(*boot.samples, *results[side.name])) for boot in side.boots),
        )
        for side in (base, head)
    ]
    compared = compared_set(compare(*both, exact))

    assert {(row.metric, row.verdict) for row in compared.rows} == {
        ("latency", "invalid"),
        ("retval", "invalid"),
    }
    assert {row.reason for row in compared.rows} == {"the sides did different work: retval is 2 and 1"}
