"""From boots to decisions: fixed plans, and plans that screen and confirm."""

import numpy as np
import pytest

from cliffwatch.stats.boot_values import BootValues, boot_values, correlated_within_blocks
from cliffwatch.stats.deciding import Decision, StagedValues, decide_fixed, decide_staged
from cliffwatch.stats.rank_tables import Values
from cliffwatch.stats.stages import CAREFUL, Family, Look, Stages, confirm

PLAN = Stages(screen=8, screen_alpha=0.1, looks=(Look(boots=8, alpha=0.003), Look(boots=16, alpha=0.007)))
QUIET = 0.002


def boots(seed: int, count: int, shift: float = 0.0, spread: float = QUIET) -> BootValues:
    generator = np.random.default_rng(seed)
    return boot_values(generator.normal(0, spread, count), shift + generator.normal(0, spread, count))


def staged(*rows: StagedValues) -> list[Decision]:
    return decide_staged(rows, PLAN, margin=0.01)


def test_a_fixed_plan_tells_a_change_and_shows_that_nothing_changed() -> None:
    slower, same = decide_fixed([boots(1, 10, 0.03), boots(2, 10)], margin=0.01, alpha=0.01)

    assert (slower.outcome, same.outcome) == ("changed", "equivalent")
    assert slower.q <= 0.01


def test_a_real_change_below_the_threshold_is_distinguished() -> None:
    (small,) = decide_fixed([boots(3, 21, 0.004, 0.001)], margin=0.01, alpha=0.01)

    assert small.outcome == "changed-small"


def test_nothing_is_published_from_the_screen() -> None:
    (row,) = staged(StagedValues(screened=boots(4, 8, 0.05), confirming=None))

    assert (row.outcome, row.direction, row.waiting) == ("open", 1, True)


def test_fresh_boots_confirm_a_candidate_at_the_first_look_that_is_sure() -> None:
    (row,) = staged(StagedValues(screened=boots(5, 8, 0.05), confirming=boots(6, 8, 0.05)))

    assert (row.outcome, row.looks, row.waiting) == ("changed", 1, False)
    assert len(row.used.base) == 8


def test_a_candidate_that_fresh_boots_do_not_bear_out_is_given_up() -> None:
    (row,) = staged(StagedValues(screened=boots(7, 8, 0.05), confirming=boots(8, 8, -0.02)))

    assert (row.outcome, row.waiting) == ("open", False)


def test_a_change_in_the_other_direction_than_the_screen_saw_is_not_published() -> None:
    (row,) = staged(StagedValues(screened=boots(9, 8, 0.05), confirming=boots(10, 16, -0.05)))

    assert row.outcome == "open"


def test_steady_rows_are_done_after_the_screen() -> None:
    (row,) = staged(StagedValues(screened=boots(11, 8), confirming=None))

    assert (row.outcome, row.waiting) == ("equivalent", False)


def test_noisy_rows_that_more_boots_cannot_decide_are_left() -> None:
    (row,) = staged(StagedValues(screened=boots(12, 8, spread=0.05), confirming=None))

    assert (row.outcome, row.waiting) == ("open", False)


def test_candidates_given_up_still_count_in_the_family() -> None:
    alone = confirm([0.001], Family(metrics=200, candidates=1))
    of_ten = confirm([0.001], Family(metrics=200, candidates=10))
    after_five = confirm([0.001], Family(metrics=200, candidates=10, confirmed=5))

    assert alone == pytest.approx([0.001])
    assert of_ten == pytest.approx([0.010])
    assert after_five == pytest.approx([0.005])


def test_a_broad_change_is_confirmed_together() -> None:
    """Forty of fifty rows slower by a little more than their spread."""
    generator = np.random.default_rng(13)

    def arms(count: int, shift: float) -> BootValues:
        return boot_values(generator.normal(0, 0.01, count), shift + generator.normal(0, 0.01, count))

    rows = [
        StagedValues(screened=arms(21, 0.012 * (row < 40)), confirming=arms(30, 0.012 * (row < 40)))
        for row in range(50)
    ]
    decided = decide_staged(rows, CAREFUL, margin=0.005)

    assert sum(row.outcome == "changed" for row in decided[:40]) >= 30
    assert all(row.outcome != "changed" for row in decided[40:])


def test_a_decision_comes_out_the_same_when_it_is_made_again() -> None:
    rows = [
        StagedValues(screened=boots(seed, 8, 0.02), confirming=boots(seed + 50, 16, 0.02))
        for seed in range(20, 30)
    ]

    assert [row.q for row in staged(*rows)] == [row.q for row in staged(*rows)]


def test_boots_that_move_together_are_compared_in_pairs() -> None:
    """Blocks that differ by 3 %, arms within them by 0.4 %: two samples detect nothing, pairs do."""
    generator = np.random.default_rng(14)
    common: Values = generator.normal(0, 0.03, 12)
    twins = boot_values(
        common + generator.normal(0, 0.001, 12), common + 0.012 + generator.normal(0, 0.001, 12)
    )
    (row,) = decide_fixed([twins], margin=0.01, alpha=0.01)

    assert row.in_pairs
    assert row.outcome == "changed"


def test_blocks_of_different_runs_make_no_pairs() -> None:
    twins = boot_values(np.arange(10.0), np.arange(10.0))
    apart = BootValues(
        base=twins.base, head=twins.head, base_blocks=twins.base_blocks, head_blocks=twins.head_blocks + 10
    )

    assert correlated_within_blocks([twins, apart]) == [True, False]
