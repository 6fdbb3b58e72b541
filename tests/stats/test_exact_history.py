"""Steps of counted series: any neighbour that differs by more than the threshold, and nothing else."""

import numpy as np
import pytest

from cliffwatch.stats.history.exact import exact_steps

THRESHOLD = 0.002


def test_every_step_beyond_the_threshold_is_said_with_its_sign_and_place() -> None:
    logs = np.log([185.787, 185.788, 189.8, 189.8, 185.0])

    steps = exact_steps(logs, THRESHOLD)

    assert [(step.index, step.first, step.last) for step in steps] == [(2, 2, 2), (4, 4, 4)]
    assert [step.size for step in steps] == pytest.approx([0.0216, -0.0253], abs=1e-4)


def test_a_step_at_the_last_point_waits_for_no_other() -> None:
    assert [step.index for step in exact_steps(np.log([100.0, 100.0, 100.3]), THRESHOLD)] == [2]


def test_a_commit_and_its_revert_are_two_steps() -> None:
    sizes = [step.size for step in exact_steps(np.log([100.0, 101.0, 100.0]), THRESHOLD)]

    assert [size > 0 for size in sizes] == [True, False]


def test_many_changes_below_the_threshold_are_no_step() -> None:
    assert exact_steps(np.log(100.0) + 0.0015 * np.arange(50), THRESHOLD) == []


def test_the_scale_of_the_values_does_not_matter() -> None:
    logs = np.log([100.0, 100.0, 100.5, 100.1])

    assert [step.index for step in exact_steps(logs + 7.0, THRESHOLD)] == [
        step.index for step in exact_steps(logs, THRESHOLD)
    ]


@pytest.mark.parametrize("count", [0, 1])
def test_too_short_a_series_has_no_step(count: int) -> None:
    assert exact_steps(np.zeros(count), THRESHOLD) == []


def test_a_value_of_zero_is_refused_and_not_called_a_step() -> None:
    with pytest.raises(ValueError, match="finite"):
        exact_steps(np.array([0.0, -np.inf, 0.0]), THRESHOLD)
