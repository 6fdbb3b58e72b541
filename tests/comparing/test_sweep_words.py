"""What is said of a sweep: its course, its breakpoints on either side, and single points that are none."""

from collections.abc import Sequence

import numpy as np
import pytest
from arms import arm, exact, noisy

from cliffwatch.comparing.compare import compare
from cliffwatch.comparing.comparison import ComparisonSet
from cliffwatch.formats.verdicts import Sweep
from cliffwatch.samples import CaseKey

PARAMETERS = tuple(2**power for power in range(10))


def samples(levels: Sequence[float], boots: int = 1, spread: float = 0.0) -> dict[CaseKey, list[float]]:
    """One case a parameter, its values spread evenly about the level."""
    around = 1 + spread * np.linspace(-1, 1, boots) if boots > 1 else np.ones(1)
    return {
        CaseKey("maps", "map-lookup", (("nr_maps", str(parameter)),)): [
            float(20 * level * each) for each in around
        ]
        for parameter, level in zip(PARAMETERS, levels, strict=True)
    }


def sweep_of(base: Sequence[float], head: Sequence[float] | None = None) -> Sweep:
    compared = compare(arm("base", samples(base)), arm("head", samples(head or base)), exact)
    assert isinstance(compared, ComparisonSet)
    (sweep,) = compared.sweeps
    return sweep


@pytest.mark.parametrize(
    ("levels", "words"),
    [
        ([1] * 10, "flat from nr_maps 1 to 512, no breakpoint"),
        ([1.2**n for n in range(10)], "climbs all the way from nr_maps 1 to 512 (+416 %), no breakpoint"),
        ([0.8**n for n in range(10)], "falls all the way from nr_maps 1 to 512 (-87 %), no breakpoint"),
        ([1] * 5 + [2] * 5, "jumps between nr_maps 16 and 32 (+100 %); unchanged in head"),
        ([2] * 5 + [1] * 5, "drops between nr_maps 16 and 32 (-50 %); unchanged in head"),
        (
            [1] * 3 + [1.5] * 4 + [1] * 3,
            "jumps between nr_maps 4 and 8 (+50 %), drops between nr_maps 64 and 128 (-33 %); unchanged in head",
        ),
        ([1] * 5 + [2, 4, 8, 16, 32], "climbs from nr_maps 16 on (+100 % at 32); unchanged in head"),
        ([1, 2, 4, 8, 16] + [16] * 5, "levels off from nr_maps 16 on (-50 % at 32); unchanged in head"),
        (
            [1] * 9 + [1.4],
            (
                "flat from nr_maps 1 to 512, no breakpoint; nr_maps 512 alone lies 40 % above: one point is"
                " no breakpoint"
            ),
        ),
    ],
)
def test_each_course_has_its_words(levels: list[float], words: str) -> None:
    assert sweep_of(levels).words == words


def test_a_jump_that_is_new_is_said_of_head_alone() -> None:
    sweep = sweep_of([1] * 10, [1] * 5 + [1.5] * 5)

    assert (
        sweep.words
        == "base: flat from nr_maps 1 to 512, no breakpoint; head: jumps between nr_maps 16 and 32 (+50 %)"
    )
    assert sweep.base_breakpoint is None
    assert sweep.head_breakpoint == (16, 32)


def test_courses_that_differ_are_both_said() -> None:
    words = sweep_of([1] * 10, [1.2**n for n in range(10)]).words

    assert words.startswith(
        "base: flat from nr_maps 1 to 512, no breakpoint; head: climbs all the way from nr_maps 1"
    )


def test_the_stored_breakpoint_is_the_one_with_most_weight() -> None:
    assert sweep_of([1] * 3 + [1.2] * 4 + [2.4] * 3).base_breakpoint == (64, 128)


def test_boots_that_disagree_leave_a_jump_unsaid() -> None:
    """The medians are those of a jump by 40 %; of boots within 1 % it is one, of boots that range over 60 %
    either way it is none.
    """
    levels = [1.0] * 5 + [1.4] * 5
    found = {}
    for spread in (0.01, 0.6):
        measured = samples(levels, boots=5, spread=spread)
        compared = compare(arm("base", measured), arm("head", measured), noisy)
        assert isinstance(compared, ComparisonSet)
        found[spread] = compared.sweeps[0]

    assert found[0.01].base_breakpoint == (16, 32)
    assert found[0.6].base_breakpoint is None


def test_values_without_a_logarithm_make_no_sweep_and_no_error() -> None:
    compared = compare(arm("base", samples([-1] * 10)), arm("head", samples([-1] * 10)), exact)

    assert isinstance(compared, ComparisonSet)
    assert compared.sweeps == ()
