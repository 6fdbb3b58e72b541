"""Where noise comes from: readings, boots, modes, drift, layout."""

import numpy as np
import pytest
from scipy import stats

from cliffwatch.stats.noise.components import components
from cliffwatch.stats.noise.drifts import drift, drifts_of, is_interleaved
from cliffwatch.stats.noise.layouts import layout_spread
from cliffwatch.stats.noise.shapes import _fisher, two_modes


def test_variance_is_split_into_boots_and_readings() -> None:
    generator = np.random.default_rng(1)
    boots = [100 * (1 + generator.normal(0, 0.02) + generator.normal(0, 0.01, 10)) for _ in range(400)]
    parts = components([list(boot) for boot in boots])

    assert parts is not None
    assert parts.boot == pytest.approx(0.02, rel=0.1)
    assert parts.within == pytest.approx(0.01, rel=0.05)
    assert parts.correlation == pytest.approx(0.8, abs=0.05)
    assert parts.worth == 2


def test_one_boot_says_nothing_of_boots() -> None:
    assert components([[1.0, 1.1, 0.9]]) is None


def test_readings_are_worth_most_where_boots_are_alike() -> None:
    generator = np.random.default_rng(2)
    parts = components([list(100 + generator.normal(0, 5, 10)) for _ in range(20)])

    assert parts is not None
    assert parts.worth > 10


def test_two_modes_are_reported_with_their_shares_and_never_averaged_away() -> None:
    generator = np.random.default_rng(3)
    base = generator.normal(0, 0.002, 20) + 0.05 * (np.arange(20) < 4)
    head = generator.normal(0, 0.002, 20) + 0.05 * (np.arange(20) < 14)
    (modes,) = two_modes(base[None], head[None])

    assert modes is not None
    assert modes.slow - modes.fast == pytest.approx(0.05, abs=0.003)
    assert (modes.base_share, modes.head_share) == (0.2, 0.7)
    assert modes.p < 0.01


def test_a_shift_between_arms_is_not_two_modes() -> None:
    generator = np.random.default_rng(4)

    assert two_modes(generator.normal(0, 0.002, (1, 20)), generator.normal(0.05, 0.002, (1, 20))) == [None]


def test_a_drift_is_detected_with_its_size() -> None:
    generator = np.random.default_rng(5)
    order = np.arange(40.0)
    arms = np.tile([0.0, 1.0], 20)
    measured = drift(generator.normal(0, 0.005, 40) + 0.05 * order / 39 + 0.1 * arms, order, arms)

    assert measured is not None
    assert measured.p < 0.001
    assert measured.total == pytest.approx(0.05, abs=0.01)
    assert is_interleaved(order, arms)


def test_one_arm_after_the_other_is_no_interleaving() -> None:
    assert not is_interleaved(np.arange(40.0), np.repeat([0.0, 1.0], 20))


def test_layout_is_separated_from_noise() -> None:
    generator = np.random.default_rng(6)
    moved = [list(generator.normal(0, 0.02) + generator.normal(0, 0.002, 5)) for _ in range(12)]
    quiet = [list(generator.normal(0, 0.002, 5)) for _ in range(12)]
    lucky, steady = layout_spread(moved), layout_spread(quiet)

    assert lucky is not None
    assert steady is not None
    assert lucky.p < 0.001 < steady.p
    assert lucky.layout == pytest.approx(0.02, rel=0.5)


def test_the_shares_are_compared_by_fishers_exact_test() -> None:
    for table in ([4, 20, 14, 20], [0, 12, 6, 12], [3, 10, 3, 30]):
        slow_base, n, slow_head, m = table
        wanted = stats.fisher_exact(np.array([[slow_base, n - slow_base], [slow_head, m - slow_head]]))[1]
        assert _fisher(slow_base, n, slow_head, m) == pytest.approx(wanted)


def test_drifts_of_rows_are_those_of_each_row_by_itself() -> None:
    """Also where so many are asked for that they are taken in parts; a row that never moves has none."""
    generator = np.random.default_rng(9)
    order = np.arange(80.0)
    arms = np.arange(80) % 2
    rows = (
        generator.normal(0, 0.01, (400, 80)) + np.linspace(0, 0.05, 80) * (np.arange(400) % 3 == 0)[:, None]
    )
    rows[7] = 0.25

    at_once = drifts_of(rows, order, arms)
    assert at_once == [drift(row, order, arms) for row in rows]
    assert at_once[7] is None
    assert drifts_of(rows, order, np.zeros(80))[0] is not None
