"""A published change is as large as its report says, though it was published because it was large."""

import numpy as np
import pytest

from cliffwatch.stats.published_size import published_size
from cliffwatch.stats.ranks import two_samples

CRITICAL = 2.5e-5
BOOTS = 21
SPREAD = 0.02


def published(shift: float, families: int) -> np.ndarray:
    """Of the samples that pass at CRITICAL: measured, published, low and high."""
    generator = np.random.default_rng(7)
    rows = []
    for _ in range(families):
        base, head = generator.normal(0, SPREAD, (2, BOOTS))
        ranked = two_samples(base, head + shift)
        if ranked.p_greater() <= CRITICAL:
            size = published_size(ranked, direction=1, critical_p=CRITICAL)
            assert size is not None
            rows.append((size.measured, size.shift, size.low, size.high))
    return np.array(rows)


def test_its_interval_has_the_truth_where_the_plain_estimate_is_far_too_large() -> None:
    rows = published(0.02, 1500)

    assert len(rows) > 100
    assert rows[:, 0].mean() > 0.026
    assert rows[:, 1].mean() < 0.023
    assert np.mean((rows[:, 2] <= 0.02) & (rows[:, 3] >= 0.02)) >= 0.92


def test_what_is_far_beyond_the_test_is_published_as_measured() -> None:
    rows = published(0.06, 50)

    assert rows[:, 1] == pytest.approx(rows[:, 0], rel=0.02)


def test_a_decrease_is_the_mirror_of_an_increase() -> None:
    generator = np.random.default_rng(1)
    base, head = generator.normal(0, SPREAD, (2, BOOTS))
    up = published_size(two_samples(base, head + 0.03), direction=1, critical_p=0.01)
    down = published_size(two_samples(-base, -head - 0.03), direction=-1, critical_p=0.01)

    assert up is not None
    assert down is not None
    assert (down.shift, down.low, down.high) == pytest.approx((-up.shift, -up.high, -up.low))


def test_its_direction_is_never_in_doubt() -> None:
    rows = published(0.005, 4000)

    assert len(rows) > 0
    assert (rows[:, 2] >= 0).all()
    assert (rows[:, 1] > 0).all()


def test_boots_without_any_noise_have_no_interval_of_this_kind() -> None:
    assert published_size(two_samples(np.zeros(5), np.ones(5)), direction=1, critical_p=0.005) is None
