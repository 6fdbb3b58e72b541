"""A quick part of `make calibrate`, from fixed seeds: the method's error and power, as far as a minute can
tell.

The bounds are those of a binomial count at the promised rate; docs/calibration.md has the figures of
thousands of families.
"""

from functools import partial

import numpy as np
import pytest
from calibrate import cliffs
from calibrate.families import METRICS, staged_family
from calibrate.history import watched
from calibrate.intervals import coverage, drift, equivalence
from calibrate.matched_layouts import PLACED, conclusion
from calibrate.noise import KINDS, Kind, family

from cliffwatch.stats.boot_values import boot_values
from cliffwatch.stats.curves.breakpoints import find_breakpoint
from cliffwatch.stats.deciding import decide_fixed
from cliffwatch.stats.stages import ADAPTIVE, CAREFUL, Stages


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("stages", [CAREFUL, ADAPTIVE], ids=["careful", "staged"])
def test_nothing_is_published_of_families_in_which_nothing_changed(kind: Kind, stages: Stages) -> None:
    """Of forty families at one per cent, more than three wrong ones would come once in a thousand times."""
    wrong = 0
    for seed in range(40):
        decided = staged_family(np.random.default_rng(seed), kind, np.zeros(METRICS), stages)
        wrong += any(row.outcome in ("changed", "changed-small") for row in decided)

    assert wrong <= 3


@pytest.mark.parametrize("kind", KINDS)
def test_one_change_of_three_per_cent_among_two_hundred_is_detected(kind: Kind) -> None:
    shifts = np.zeros(METRICS)
    shifts[0] = np.log1p(0.03)
    detected = sum(
        staged_family(np.random.default_rng(seed), kind, shifts, CAREFUL)[0].outcome == "changed"
        for seed in range(40)
    )

    assert detected >= 35


def test_a_fixed_plan_keeps_its_error_too() -> None:
    wrong = 0
    for seed in range(60):
        generator = np.random.default_rng(seed)
        draw = partial(family, generator, "mixed", METRICS, 21, 0.02)
        rows = [boot_values(base, head) for base, head in zip(draw(), draw(), strict=True)]
        wrong += any(row.outcome == "changed" for row in decide_fixed(rows, margin=0.01, alpha=0.01))

    assert wrong <= 3


def test_intervals_and_unchanged_keep_their_promises() -> None:
    for figure in (*coverage(1500), *equivalence(1500), *drift(500)):
        assert figure.met is not False, figure


def test_a_quiet_series_raises_next_to_no_alarm() -> None:
    alarms = sum(len(watched(np.random.default_rng(seed).normal(0, 0.01, 300))) for seed in range(20))

    assert alarms <= 6


@pytest.mark.parametrize("shape", cliffs.SHAPES, ids=[shape.name for shape in cliffs.SHAPES])
def test_breaks_of_sweeps_are_placed_and_none_is_invented(shape: cliffs.Shape) -> None:
    """Of twenty curves with noise of 2 % and boots: more than two false ones would come once in a thousand
    times.
    """
    outcomes = []
    for seed in range(20):
        *points, edges = cliffs.curve((seed, 30), cliffs.SHAPES.index(shape), 0.02, booted=True)
        outcomes.append(cliffs.outcome(find_breakpoint(*points), edges))

    assert outcomes.count("right") >= 16 if shape.broken else len(outcomes) - outcomes.count("none") <= 2


def test_matched_layouts_tell_code_from_placement() -> None:
    """Of thirty changes at five per cent, more than six wrong ones would come once in a thousand times."""
    of_placement = [conclusion(seed, 0.005, 0.0, PLACED) for seed in range(30)]
    of_code = [conclusion(seed, 0.005, PLACED, 0.0) for seed in range(30)]

    assert sum(each is not None and each.only_placement is False for each in of_placement) <= 6
    assert sum(each is not None and each.only_placement is True for each in of_code) <= 6
    assert None not in (*of_placement, *of_code)
