"""A shift is said only where trimmed means bear it out: ranks also reject for tails, and for spreads of arms
of unequal size.
"""

import numpy as np
import pytest
from scipy import stats

from cliffwatch.stats.boot_values import boot_values
from cliffwatch.stats.deciding import decide_fixed
from cliffwatch.stats.power.detection import two_sided_tail
from cliffwatch.stats.rank_tables import Values
from cliffwatch.stats.ranks import two_samples
from cliffwatch.stats.shape_guard import (
    WHERE_SPREADS_DIFFER,
    _median_test,
    _yuen,
    evidence_share,
    guard_p_value,
    spread_statistics,
    spreads_differ,
)

QUIET, BOOTS = 0.01, 30


def normal(seed: int, count: int = BOOTS, spread: float = QUIET) -> Values:
    return np.random.default_rng(seed).normal(0, spread, count)


def of(base: Values, head: Values) -> float:
    """The two-sided p-value that a family gets."""
    ranked = two_samples(base, head)
    return guard_p_value(
        float(ranked.p()), base, head, sides=2, direction=float(ranked.shift), in_pairs=False
    )


def test_a_shift_keeps_its_p_value() -> None:
    """Twelve boots leave the trimmed means little to bring."""
    base, head = normal(11, 12), normal(12, 12) + 0.02

    assert not spreads_differ(base, head)
    assert of(base, head) == float(two_samples(base, head).p())


def test_a_tail_with_the_same_median_is_no_shift() -> None:
    """Ranks reject it at three in a thousand."""
    base, slow = np.linspace(-0.02, 0.02, BOOTS), np.linspace(-0.001, 0.001, BOOTS)
    head = np.where(slow > 0, slow + 0.05, slow)

    assert float(two_samples(base, head).p()) < 0.01
    assert of(base, head) > 0.3


def test_few_boots_of_a_wide_arm_are_no_shift() -> None:
    """All ten lie above base's median, four of them far above: ranks reject it, ten boots of that spread
    cannot.
    """
    base = np.linspace(-0.01, 0.01, 21)
    head = np.array([0.004, 0.006, 0.008, 0.009, 0.0095, 0.02, 0.05, 0.08, 0.11, 0.14])

    assert float(two_samples(base, head).p()) < 0.001
    assert of(base, head) > 0.01


def test_exchanging_the_sides_changes_no_p_value() -> None:
    for seed in range(20):
        base, head = np.round(normal(seed, 11), 3), np.round(normal(seed + 50, 14, 2 * QUIET) + 0.01, 3)
        assert of(base, head) == pytest.approx(of(head, base))


@pytest.mark.parametrize(("n", "m", "wider"), [(5, 5, 1), (8, 12, 3), (21, 21, 1), (30, 18, 2)])
def test_trimmed_means_are_compared_as_yuen_does(n: int, m: int, wider: float) -> None:
    base, head = np.sort(normal(3, n)), np.sort(normal(4, m, wider * QUIET) + 0.01)
    expected = stats.ttest_ind(head, base, equal_var=False, trim=0.2, alternative="greater")

    assert _yuen(base, head, 1.0) == pytest.approx(expected.pvalue, rel=0.02)


def test_pairs_are_held_against_the_trimmed_mean_of_their_differences() -> None:
    within = normal(8, 20) + 0.004
    winsorized = np.asarray(stats.mstats.winsorize(within, limits=(0.2, 0.2)))
    error = np.sqrt(winsorized.var(ddof=1) * 19 / (12 * 11))
    trimmed = 2 * stats.t.sf(stats.trim_mean(within, 0.2) / error, 11)
    p = guard_p_value(0.0, np.zeros(20), within, sides=2, direction=1.0, in_pairs=True)

    assert p ** evidence_share(20, 20) == pytest.approx(trimmed)


def test_the_more_boots_the_more_evidence_trimmed_means_have_to_bring() -> None:
    """By ranks alone, a tail of head's slower half would be a change of nearly every family of rows with
    sixty boots.
    """
    shares = [evidence_share(boots, boots) for boots in (5, 10, 21, 30, 42, 60)]

    assert shares == sorted(shares)
    assert shares[0] < 0.01
    assert 1 < shares[-1] < WHERE_SPREADS_DIFFER


def test_the_median_test_is_the_exact_one_of_a_table() -> None:
    base, head = normal(3, 12), normal(4, 15) + 0.01
    middle = np.median(np.concatenate([base, head]))
    drawn = len(head) - int(middle in head)
    expected = stats.hypergeom.sf((head > middle).sum() - 1, 26, 13, drawn)

    assert _median_test(base, head, 1.0) == pytest.approx(expected)


def test_distances_from_the_median_are_compared_as_brown_and_forsythe_do() -> None:
    base, head = normal(5, 12), normal(6, 20, 3 * QUIET)
    expected = stats.levene(base, head, center="median")

    assert float(spread_statistics(base, head)) ** 2 == pytest.approx(expected.statistic)


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 9, 20, 41])
def test_the_tail_of_students_t_is_that_of_the_tables(freedom: int) -> None:
    for statistic in (0.0, 0.1, 1.0, 3.0, 8.0):
        assert two_sided_tail(statistic, freedom) == pytest.approx(
            2 * stats.t.sf(statistic, freedom), abs=1e-12
        )


def test_few_pairs_are_compared_as_two_samples_where_pairs_could_not_decide() -> None:
    """Eight pairs can reach one in 128 at the best; twenty rows leave each one in two thousand."""
    common = np.linspace(-0.005, 0.005, 8)
    twins = boot_values(common, common + 0.028)
    others = [boot_values(normal(seed, 8), normal(seed + 30, 8)) for seed in range(19)]
    row = decide_fixed([twins, *others], margin=0.01, alpha=0.01)[0]

    assert not row.in_pairs
    assert row.outcome == "changed"


def test_two_modes_alike_on_both_sides_are_of_one_spread() -> None:
    """All distances are equal but for rounding, which is no evidence of anything."""
    base = np.log(np.repeat([100.0, 102.0], 10))
    for factor in (1.02, 1.03, 1.07, 1.5):
        head = np.log(np.repeat([100.0, 102.0], 10) * factor)
        assert not spreads_differ(base, head)


def test_a_tail_on_one_side_is_no_change_however_many_boots_there_are() -> None:
    """Sixty boots of an exponential head whose median is base's: of forty families of 200 rows, ranks alone
    report in one of five.
    """
    generator = np.random.default_rng(60)
    reported = by_ranks = 0
    for _ in range(40):
        base = generator.normal(0, QUIET, (200, 60))
        head = generator.exponential(QUIET, (200, 60)) - QUIET * np.log(2)
        by_ranks += bool((two_samples(base, head).p() <= 0.01 / 200).any())
        decisions = decide_fixed(
            [boot_values(*arms) for arms in zip(base, head, strict=True)], margin=0.01, alpha=0.01
        )
        reported += any(each.outcome.startswith("changed") for each in decisions)

    assert by_ranks >= 5
    assert reported <= 2
