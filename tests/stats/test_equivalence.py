"""Showing that nothing changed."""

import numpy as np
import pytest

from cliffwatch.stats.equivalence import ALPHA, equivalent, error_of_look
from cliffwatch.stats.ranks import two_samples


def test_the_error_is_split_over_the_looks() -> None:
    assert error_of_look(0, 1) == ALPHA
    for looks in (2, 3, 4, 6):
        assert sum(error_of_look(look, looks) for look in range(looks)) == pytest.approx(ALPHA)


def test_steady_boots_are_equivalent_and_few_or_noisy_ones_are_not() -> None:
    generator = np.random.default_rng(1)
    steady = two_samples(*generator.normal(0, 0.002, (2, 10)))
    noisy = two_samples(*generator.normal(0, 0.05, (2, 10)))
    few = two_samples(*generator.normal(0, 0.002, (2, 2)))

    assert equivalent(steady, margin=0.01, look=0, looks=1)
    assert not equivalent(noisy, margin=0.01, look=0, looks=1)
    assert not equivalent(few, margin=0.01, look=0, looks=1)
