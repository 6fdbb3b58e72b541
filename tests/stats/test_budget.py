"""A time budget goes where it detects most: to what is cheap, or varies."""

import math

import pytest
from scipy import stats

from cliffwatch.stats.power.budget import (
    MOST_BOOTS,
    MOST_LAYOUTS,
    Budget,
    Costs,
    Repetitions,
    Variances,
    estimate_variances,
    first_stage,
)

FIRST = Repetitions(layouts=4, boots=2, duration=3)
COSTS = Costs(link=30, boot=20, second=2)


def budget(row: Variances, costs: Costs = COSTS, done: Repetitions = FIRST) -> Budget:
    return Budget(rows=(row,), alpha=0.01, done=done, rate=1.0, costs=costs)


LAYOUTS_VARY = Variances(layout=4e-4, boot=1e-6, reading=1e-6)
BOOTS_VARY = Variances(layout=1e-8, boot=4e-4, reading=1e-6)
READINGS_VARY = Variances(layout=1e-8, boot=1e-8, reading=4e-2)


def test_where_layouts_vary_each_has_one_boot_of_few_readings() -> None:
    spent = budget(LAYOUTS_VARY).spend(3600)

    assert (spent.boots, spent.duration) == (1, 1)
    assert spent.layouts == 3600 // COSTS.of_layout(1, 1)


def test_where_boots_vary_and_links_are_dear_a_layout_has_several_boots() -> None:
    assert budget(BOOTS_VARY, COSTS._replace(link=600)).spend(7200).boots == 4


def test_where_readings_vary_boots_are_long() -> None:
    assert budget(READINGS_VARY).spend(3600).duration >= 8


def test_cases_whose_length_is_fixed_keep_it() -> None:
    assert budget(READINGS_VARY, COSTS._replace(second=0)).spend(3600).duration == FIRST.duration


def test_with_one_layout_the_time_goes_to_boots() -> None:
    known = budget(BOOTS_VARY, Costs(link=0, boot=20, second=0), Repetitions(8, 1, 3))

    assert known.spend(400) == Repetitions(layouts=20, boots=1, duration=3)


def test_with_one_layout_a_long_time_goes_to_as_many_boots_as_it_says() -> None:
    known = budget(BOOTS_VARY, Costs(link=0, boot=20, second=0), Repetitions(8, 1, 3))

    # Four hours are 720 boots: no layout has several of them, and the limit is not that of layouts.
    assert known._replace(in_layouts=False).spend(4 * 3600) == Repetitions(layouts=720, boots=1, duration=3)
    assert known._replace(in_layouts=False).spend(1e9).layouts == MOST_BOOTS


@pytest.mark.parametrize("left", [-50.0, 0.0, 20.0])
def test_without_time_for_one_more_nothing_is_added(left: float) -> None:
    assert budget(LAYOUTS_VARY).spend(left).layouts == 0


def test_there_is_an_end_to_it() -> None:
    assert budget(LAYOUTS_VARY).spend(1e9).layouts == MOST_LAYOUTS


def test_more_layouts_detect_less_and_too_few_detect_nothing() -> None:
    known = budget(LAYOUTS_VARY, done=Repetitions(2, 2, 3))
    few, some, many = (known.detectable(Repetitions(layouts, 1, 3))[0] for layouts in (1, 8, 30))

    assert few is None
    assert some is not None
    assert many is not None
    assert many < some


def test_a_row_of_two_levels_is_taken_apart() -> None:
    """Two layouts a step of 0.2 apart, whose boots are 0.02 apart, in each of two arms."""
    arm = ((1.00, 1.02), (1.20, 1.22))
    found = estimate_variances((arm, arm), reading=0.0, readings=1.0)

    assert found.boot == pytest.approx(2e-4)
    assert found.layout == pytest.approx(0.02 - 1e-4)
    assert found.of_layout(2, 1) == pytest.approx(0.02)


def test_boots_of_unknown_layout_have_the_variance_of_boots() -> None:
    found = estimate_variances((((1.0,), (1.2,)), ((2.0,), (2.2,))), reading=0.01, readings=2.0)

    assert found.layout == 0
    assert found.boot == pytest.approx(0.02 - 0.005)
    assert found.of_layout(1, 2) == pytest.approx(0.02)


def test_a_layout_varies_at_least_as_its_readings_do() -> None:
    assert Variances(layout=-1e-3, boot=-1e-3, reading=4e-4).of_layout(2, 2) == pytest.approx(1e-4)


def test_the_first_stage_leaves_time_to_choose() -> None:
    for seconds in (600, 1200, 3600):
        first = first_stage(seconds, COSTS, 3, rows=6)
        assert first.layouts == 2 or first.layouts * COSTS.of_layout(first.boots, 3) <= seconds / 2
    assert first_stage(1, COSTS, 3, rows=6) == Repetitions(2, 2, 3)
    assert first_stage(math.inf, COSTS, 3, rows=1).layouts == 5


@pytest.mark.parametrize(("layouts", "arms"), [(2, 3), (4, 3), (5, 3), (3, 5)])
def test_a_single_row_may_be_off_by_what_its_layouts_leave_open(layouts: int, arms: int) -> None:
    low, high = budget(LAYOUTS_VARY, done=FIRST._replace(layouts=layouts)).doubt(arms)

    freedom = arms * (layouts - 1)
    exact = [math.sqrt(freedom / stats.chi2.ppf(share, freedom)) for share in (0.9, 0.1)]
    assert [low, high] == pytest.approx(exact, rel=0.02)
    assert low < 1 < high
