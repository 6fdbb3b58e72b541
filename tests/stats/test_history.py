"""Steps in a series."""

import numpy as np
import pytest

from cliffwatch.stats.history.events import machine_events, unexplained_steps
from cliffwatch.stats.history.steps import candidates, steps
from cliffwatch.stats.history.trend import slow_trend
from cliffwatch.stats.history.watch import Watch
from cliffwatch.stats.history.winsorize import winsorize
from cliffwatch.stats.rank_tables import Values


def noise(seed: int, count: int, spread: float = 0.01) -> Values:
    return np.random.default_rng(seed).normal(0, spread, count)


def stepped(seed: int, count: int, index: int, size: float) -> Values:
    return noise(seed, count) + np.log1p(size) * (np.arange(count) >= index)


def test_a_step_is_located_at_its_commit_with_its_size() -> None:
    (step,) = steps(stepped(1, 120, 70, 0.05))

    assert step.index == 70
    assert step.size == pytest.approx(0.05, abs=0.01)
    assert step.first <= 70 <= step.last


def test_a_step_up_does_not_hide_one_down() -> None:
    series = noise(2, 300) + np.log1p(0.05) * ((np.arange(300) >= 100) & (np.arange(300) < 160))

    assert [step.index for step in steps(series)] == pytest.approx([100, 160], abs=1)


def test_noise_has_no_steps() -> None:
    assert sum(len(steps(noise(seed, 200))) for seed in range(50)) == 0


def test_outliers_are_no_step_and_are_clipped() -> None:
    series = noise(3, 100)
    series[[20, 60]] += 0.3

    assert steps(series) == []
    assert np.abs(winsorize(series)).max() < 0.06


def test_a_step_near_the_end_waits_for_more_points() -> None:
    series = stepped(4, 64, 60, 0.05)

    assert candidates(series) == []


def test_a_watch_reports_a_large_step_after_three_points_and_reports_it_once() -> None:
    watch = Watch()
    reported = [
        (when, step.index)
        for when, value in enumerate(stepped(5, 100, 50, 0.2))
        for step in watch.append(float(value))
    ]

    assert reported == [(52, 50)]


def test_a_watch_reports_a_small_step_after_seven_points() -> None:
    watch = Watch()
    reported = [
        (when, step.index)
        for when, value in enumerate(stepped(6, 100, 50, 0.03))
        for step in watch.append(float(value))
    ]

    assert len(reported) == 1
    assert reported[0][0] >= 56
    assert abs(reported[0][1] - 50) <= 1


def test_many_series_that_step_at_once_are_the_machines_doing() -> None:
    steps_of = {str(number): [40] for number in range(10)} | {"patch": [70]}
    (event,) = machine_events(steps_of, measured=20)

    assert event.index == 40
    assert len(event.series) == 10
    assert unexplained_steps(steps_of, [event])["patch"] == [70]
    assert unexplained_steps(steps_of, [event])["3"] == []


def test_a_slow_drift_is_reported_where_no_step_is() -> None:
    series = noise(7, 200, 0.004) + 0.04 * np.arange(200) / 199
    drift = slow_trend(series)

    assert drift is not None
    assert drift.total == pytest.approx(0.04, abs=0.01)
    assert slow_trend(noise(8, 200, 0.004)) is None
