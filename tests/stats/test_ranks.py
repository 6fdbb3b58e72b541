"""Rank statistics against printed tables and against scipy."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from cliffwatch.stats.rank_tables import critical_rank, rank_sum_tail, signed_rank_tail
from cliffwatch.stats.ranks import pairs, two_samples

logs = st.lists(st.floats(-5, 5).map(lambda value: round(value, 3)), min_size=4, max_size=9)


@given(logs, logs)
def test_exchanging_the_arms_turns_the_shift_round(first: list[float], second: list[float]) -> None:
    there = two_samples(np.array(first), np.array(second))
    back = two_samples(np.array(second), np.array(first))

    assert float(there.shift) == pytest.approx(-float(back.shift))
    assert float(there.p()) == pytest.approx(float(back.p()))
    assert there.interval(0.9)[0] == pytest.approx(-back.interval(0.9)[1])


def test_without_ties_the_p_value_is_the_exact_one() -> None:
    generator = np.random.default_rng(1)
    for n, m in ((5, 5), (7, 11), (21, 21), (30, 28)):
        base, head = generator.normal(size=n), generator.normal(0.5, 1, size=m)
        wanted = stats.mannwhitneyu(head, base, alternative="greater", method="exact").pvalue
        assert float(two_samples(base, head).p_greater()) == pytest.approx(wanted)


def test_pairs_are_compared_by_signed_ranks() -> None:
    generator = np.random.default_rng(2)
    base, head = generator.normal(size=(2, 12))
    wanted = stats.wilcoxon(head, base, method="exact").pvalue

    assert float(pairs(base, head).p()) == pytest.approx(wanted)


@given(st.lists(st.sampled_from([1.0, 2.0, 3.0]), min_size=10, max_size=10))
def test_with_ties_the_error_is_never_more_than_promised(values: list[float]) -> None:
    """Over all 252 ways to deal out ten values, some of them equal."""
    dealt = []
    for chosen in itertools.combinations(range(10), 5):
        head = np.array([values[index] for index in chosen])
        base = np.array([values[index] for index in range(10) if index not in chosen])
        dealt.append(float(two_samples(base, head).p_greater()))

    for alpha in (0.01, 0.05, 0.1):
        assert np.mean(np.array(dealt) <= alpha) <= alpha


def test_critical_ranks_are_those_of_the_tables() -> None:
    """Two-sided 5 %: U = 2 for 5 and 5, 23 for 10 and 10 (Mann and Whitney's tables); W = 8 for 10 pairs
    (Wilcoxon's).
    """
    assert critical_rank(rank_sum_tail(5, 5), 0.05) == 2
    assert critical_rank(rank_sum_tail(10, 10), 0.05) == 23
    assert critical_rank(rank_sum_tail(4, 4), 0.01) is None
    assert critical_rank(signed_rank_tail(10), 0.05) == 8


def test_large_samples_go_over_into_the_normal_approximation() -> None:
    generator = np.random.default_rng(3)
    base, head = generator.normal(size=80), generator.normal(0.3, 1, size=90)
    wanted = stats.mannwhitneyu(head, base, method="asymptotic").pvalue

    assert float(two_samples(base, head).p()) == pytest.approx(wanted, rel=1e-6)


def test_a_family_is_compared_in_one_call() -> None:
    generator = np.random.default_rng(4)
    base, head = generator.normal(size=(3, 8)), generator.normal(size=(3, 9))
    together = two_samples(base, head)

    for row in range(3):
        alone = two_samples(base[row], head[row])
        assert float(together.shift[row]) == float(alone.shift)
        assert float(together.p()[row]) == float(alone.p())


def test_an_interval_from_too_few_boots_is_infinite() -> None:
    low, high = two_samples(np.zeros(3), np.ones(3)).interval(0.99)

    assert (low, high) == (-np.inf, np.inf)
