"""What is detectable, and how many boots it takes."""

import math

import numpy as np
import pytest
from scipy import stats

from cliffwatch.stats.power.detectable import (
    NODES,
    boots_needed,
    detectable,
    detectable_in_pairs,
    detectable_staged,
    needs_range,
    power_function,
)
from cliffwatch.stats.power.detection import (
    EFFICIENCY,
    detection_power,
    least_boots,
    noncentral_tail,
    t_quantile,
)
from cliffwatch.stats.power.spread import paired_spread, pooled_spread, rank_spread
from cliffwatch.stats.stages import ADAPTIVE, CAREFUL


def test_power_is_that_of_the_noncentral_t() -> None:
    noncentral = 0.03 / (0.02 * math.sqrt(2 / 21 / EFFICIENCY))
    wanted = stats.nct.sf(stats.t.isf(0.025, 40), 40, noncentral)

    assert detection_power(0.03, 0.02, 21, 21, 0.05) == pytest.approx(wanted, abs=0.005)


def test_what_is_detectable_is_detected_four_times_in_five() -> None:
    shift = detectable(0.02, 10, 12, 0.01)

    assert shift is not None
    assert power_function(10, 12, 0.01, 2)(shift / 0.02) == pytest.approx(0.8, abs=1e-4)


def test_medians_that_must_agree_cost_power() -> None:
    assert power_function(21, 21, 5e-4, 2)(1.3) < detection_power(1.3, 1.0, 21, 21, 5e-4) - 0.02


def test_boots_of_unequal_number_cost_more_power() -> None:
    assert power_function(10, 21, 5e-4, 2)(1.5) < power_function(14, 14, 5e-4, 2)(1.5)


def test_few_boots_can_detect_nothing_at_a_strict_level() -> None:
    assert detectable(0.02, 3, 3, 0.01) is None
    assert least_boots(0.01) == 5


def test_boots_needed_are_the_fewest_that_do() -> None:
    needed = boots_needed(0.01, 0.02, 0.05)

    assert power_function(needed, needed, 0.05, 2)(0.5) >= 0.799
    assert power_function(needed - 1, needed - 1, 0.05, 2)(0.5) < 0.8


def test_the_range_of_boots_needed_narrows_with_the_boots_that_are_in() -> None:
    low, high = needs_range(100, 10, 10)
    assert (low, high) == (50, 201)
    low, high = needs_range(100, 1000, 1000)
    assert high / low < 1.15


def test_a_screen_in_front_detects_less_than_the_confirmation_alone() -> None:
    staged = detectable_staged(0.02, ADAPTIVE, 1)
    alone = detectable(0.02, 42, 42, 0.012)

    assert staged is not None
    assert alone is not None
    assert staged > alone


def test_more_candidates_share_the_error_of_a_look() -> None:
    few, many = (detectable_staged(0.02, CAREFUL, candidates) for candidates in (1, 40))

    assert few is not None
    assert many is not None
    assert many > 1.05 * few


def test_rare_slow_boots_cost_a_rank_test_little() -> None:
    generator = np.random.default_rng(1)
    quiet = generator.normal(0, 0.01, size=(2, 200))
    spiked = quiet + 0.3 * (generator.random((2, 200)) < 0.05)

    assert float(pooled_spread(*spiked)) > 4 * float(pooled_spread(*quiet))
    assert rank_spread(*spiked, shift=0.01) < 1.3 * rank_spread(*quiet, shift=0.01)
    assert rank_spread(*quiet, shift=0.01) == pytest.approx(0.01, rel=0.15)


def test_the_t_quantile_is_that_of_the_tables() -> None:
    for freedom in (1, 2, 3, 4, 5, 8, 18, 40, 100, 2000):
        for alpha in (0.2, 0.05, 0.01, 1e-3, 5e-5):
            assert t_quantile(alpha, freedom) == pytest.approx(stats.t.isf(alpha / 2, freedom), rel=3e-3)


def test_the_power_is_within_half_a_per_cent_of_the_noncentral_t() -> None:
    for freedom in (8, 18, 40, 82):
        for alpha in (0.05, 0.01, 5e-5):
            critical = stats.t.isf(alpha / 2, freedom)
            for noncentral in (1.0, 3.0, 5.0, 7.0):
                wanted = stats.nct.sf(critical, freedom, noncentral)
                assert noncentral_tail(critical, freedom, noncentral) == pytest.approx(wanted, abs=0.01)


def test_pairs_that_move_together_spread_less_than_their_arms() -> None:
    generator = np.random.default_rng(1)
    shared, base, head = generator.normal(0, 0.01, size=(3, 400))

    together = paired_spread(2 * shared + base, 2 * shared + head, 0.01)

    assert together == pytest.approx(0.01, rel=0.1)
    assert float(rank_spread(2 * shared + base, 2 * shared + head, 0.01)) == pytest.approx(0.0224, rel=0.1)


def test_pairs_have_half_the_freedom_of_two_samples_and_detect_as_little_less() -> None:
    pairs, samples = detectable_in_pairs(0.01, 21, 0.01), detectable(0.01, 21, 21, 0.01)

    assert pairs is not None
    assert samples is not None
    assert samples < pairs < 1.15 * samples
    assert detectable_in_pairs(0.01, 5, 0.01) is None


@pytest.mark.parametrize("many", [39, 60, 199, 5000])
def test_one_boot_of_a_side_detects_nothing_however_many_the_other_has(many: int) -> None:
    assert detectable(0.02, 1, many, 0.05) is None
    assert power_function(1, many, 0.05, 2)(5.0) == 0.0


@pytest.mark.parametrize(
    ("shift", "spread"), [(0.0, 0.02), (1e-170, 0.02), (0.01, math.inf), (0.01, math.nan)]
)
def test_what_no_number_of_boots_detects_needs_the_most_that_is_said(shift: float, spread: float) -> None:
    assert boots_needed(shift, spread, 0.01) == 100_000


def test_nodes_are_those_of_gauss_and_legendre() -> None:
    points, weights = np.polynomial.legendre.leggauss(len(NODES))

    assert [point for point, _ in NODES] == pytest.approx((points + 1) / 2, rel=1e-12)
    assert [weight for _, weight in NODES] == pytest.approx(weights / 2, rel=1e-12)
