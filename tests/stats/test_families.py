"""The error of a family of tests."""

import numpy as np
import pytest

from cliffwatch.stats.families import holm, max_t
from cliffwatch.stats.means import mean_ratio


def test_holm_is_stricter_the_more_there_are() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([]) == []


def test_max_t_of_one_metric_is_its_permutation_test() -> None:
    base, head = np.array([[1.0, 2.0, 3.0, 4.0]]), np.array([[5.0, 6.0, 7.0, 8.0]])
    p = max_t(base, head, np.array([1]), permutations=20_000, generator=np.random.default_rng(1))

    assert p[0] == pytest.approx(1 / 70, rel=0.15)


def test_max_t_pays_nothing_for_metrics_that_are_copies_of_each_other() -> None:
    """Holm would ask fifty times as much of each."""
    generator = np.random.default_rng(2)
    base, head = generator.normal(size=12), generator.normal(2.0, 1.0, size=12)
    copies = max_t(
        np.tile(base, (50, 1)), np.tile(head, (50, 1)), np.ones(50, dtype=int), permutations=5000, generator=generator
    )
    alone = max_t(base[None], head[None], np.ones(1, dtype=int), permutations=5000, generator=generator)

    assert copies[0] == pytest.approx(alone[0], rel=0.5)


def test_the_interval_of_a_mean_counts_boots_and_not_rows() -> None:
    """A hundred metrics that share the disturbance of their boot know no more of it than one."""
    generator = np.random.default_rng(3)
    base, head = generator.normal(0, 0.02, size=(1, 10)), generator.normal(0, 0.02, size=(1, 10))
    one = mean_ratio(base, head, level=0.99, generator=np.random.default_rng(4))
    many = mean_ratio(np.tile(base, (100, 1)), np.tile(head, (100, 1)), level=0.99, generator=np.random.default_rng(4))

    assert one.low is not None
    assert many.low == pytest.approx(one.low)


def test_too_few_boots_have_no_interval_of_the_mean() -> None:
    assert mean_ratio(np.zeros((2, 1)), np.ones((2, 1)), level=0.99, generator=np.random.default_rng(5)).low is None
