"""The error of a family of tests."""

import numpy as np
import pytest

from cliffwatch.stats.families import holm
from cliffwatch.stats.means import mean_ratio


def test_holm_is_stricter_the_more_there_are() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([]) == []


def test_the_interval_of_a_mean_counts_boots_and_not_rows() -> None:
    """A hundred metrics that share the disturbance of their boot know no more of it than one."""
    generator = np.random.default_rng(3)
    base, head = generator.normal(0, 0.02, size=(1, 10)), generator.normal(0, 0.02, size=(1, 10))
    one = mean_ratio(base, head, level=0.99, generator=np.random.default_rng(4))
    many = mean_ratio(
        np.tile(base, (100, 1)), np.tile(head, (100, 1)), level=0.99, generator=np.random.default_rng(4)
    )

    assert one.low is not None
    assert many.low == pytest.approx(one.low)


def test_too_few_boots_have_no_interval_of_the_mean() -> None:
    assert (
        mean_ratio(np.zeros((2, 1)), np.ones((2, 1)), level=0.99, generator=np.random.default_rng(5)).low
        is None
    )
