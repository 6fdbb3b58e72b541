"""Step-down max-T against all permutations of a small family, counted one by one."""

import itertools

import numpy as np
import pytest
from scipy import stats

from cliffwatch.stats.families import holm, max_t
from cliffwatch.stats.rank_tables import Values

# A clear metric, one with ties, one that goes the other way, and one that says little.
BASE = np.array([[1.0, 2, 3, 5], [1, 1, 2, 2], [9, 8, 7, 5], [1, 4, 6, 7]])
HEAD = np.array([[4.0, 6, 7, 8], [2, 2, 2, 3], [6, 4, 3, 2], [2, 3, 5, 8]])
DIRECTIONS = np.array([1, 1, -1, 1])


def counted(base: Values, head: Values, directions: Values) -> Values:
    """Westfall and Young's algorithm 4.1 as it is written, over every way to deal out the boots."""
    pooled = np.concatenate([base, head], axis=1)
    ranks = np.array([stats.rankdata(row) for row in pooled])
    ranks = ranks - ranks.mean(axis=1, keepdims=True)
    ranks = directions[:, None] * ranks / np.sqrt((ranks**2).sum(axis=1, keepdims=True))
    count, n = pooled.shape[1], base.shape[1]
    dealt = [ranks[:, list(chosen)].sum(axis=1) for chosen in itertools.combinations(range(count), count - n)]
    observed = ranks[:, n:].sum(axis=1)
    order = np.argsort(-observed)
    p_values, least = np.ones(len(base)), 0.0
    for position, metric in enumerate(order):
        rest = order[position:]
        exceeding = float(np.mean([each[rest].max() >= observed[metric] - 1e-9 for each in dealt]))
        p_values[metric] = least = max(least, exceeding)
    return p_values


def test_permuting_comes_near_to_counting_all_permutations() -> None:
    wanted = counted(BASE, HEAD, DIRECTIONS)
    p_values = max_t(BASE, HEAD, DIRECTIONS, permutations=40_000, generator=np.random.default_rng(1))

    assert p_values == pytest.approx(wanted, abs=0.01)


def test_what_no_permutation_reaches_has_the_least_p_value_there_is() -> None:
    base, head = np.arange(15.0)[None], np.arange(15.0, 30.0)[None]
    (p,) = max_t(base, head, np.array([1]), permutations=2500, generator=np.random.default_rng(2))

    assert p == 1 / 2501


def test_a_metric_that_never_varies_is_no_change() -> None:
    """It reaches its own statistic in every permutation, so that every one of them must have been drawn once."""
    base, head = np.ones((1, 5)), np.ones((1, 6))
    for permutations in (999, 1000, 2500):
        (p,) = max_t(base, head, np.array([1]), permutations=permutations, generator=np.random.default_rng(3))
        assert p == 1.0


def test_a_metric_is_asked_in_its_own_direction() -> None:
    p_values = max_t(BASE, HEAD, -DIRECTIONS, permutations=2000, generator=np.random.default_rng(4))

    assert p_values.min() > 0.5


def test_holm_never_goes_above_one_and_keeps_the_order_given() -> None:
    assert holm([0.9, 0.6]) == [1.0, 1.0]
    assert holm([0.5, 0.001, 0.5]) == pytest.approx([1.0, 0.003, 1.0])
    assert holm([0.02, 0.02]) == pytest.approx([0.04, 0.04])
