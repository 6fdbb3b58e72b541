"""Kernels measured in several layouts: placement of code is noise, and no number of boots averages it out."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from arms import INT_GET, SEQ_GET, arm, exact, noisy

from cliffwatch.comparing.compare import compare
from cliffwatch.comparing.comparison import ComparisonSet
from cliffwatch.comparing.thresholds import Method
from cliffwatch.formats.comparison import ComparisonRow
from cliffwatch.reports import figures
from cliffwatch.reports.context import trials
from cliffwatch.samples import Arm

LUCK = {
    "base": [-0.02, 0.01, 0.0, 0.02, -0.01, -0.03, 0.005, 0.015],
    "head": [0.025, -0.015, 0.02, 0.03, 0.01, 0.0, 0.02, 0.035],
}
"""Where the code of each image lies moves it by this, a log."""


def placed(name: str, luck: Sequence[float], boots: int, slower: float = 0.0) -> Arm:
    """So many boots of each layout, in turn; noise moves a boot by a fifth of a per cent."""
    logs = np.tile(luck, boots) + slower
    logs += np.random.default_rng(len(name) + boots).normal(0, 0.002, len(logs))
    measured = arm(name, {SEQ_GET: list(100 * np.exp(logs))}, mode="walltime")
    return replace(
        measured,
        boots=tuple(
            replace(boot, layout=f"{name}-{number % len(luck)}") for number, boot in enumerate(measured.boots)
        ),
    )


def in_one_layout(side: Arm) -> Arm:
    return replace(side, boots=tuple(replace(boot, layout=None) for boot in side.boots))


def compared(base: Arm, head: Arm) -> ComparisonRow:
    made = compare(base, head, noisy, Method(one_run=True))
    assert isinstance(made, ComparisonSet)
    (row,) = made.rows
    return row


def test_luck_of_placement_is_not_reported_however_many_boots_saw_it() -> None:
    base, head = placed("base", LUCK["base"], 6), placed("head", LUCK["head"], 6)

    assert compared(in_one_layout(base), in_one_layout(head)).verdict == "regression"
    row = compared(base, head)
    assert row.verdict == "inconclusive"
    assert (row.n_base, row.n_head, row.observed) == (8, 8, "layout")
    assert row.ci_low is not None
    assert row.ci_high is not None
    assert row.ci_low < 0 < row.ci_high


def test_a_change_beyond_the_luck_of_placement_is_reported() -> None:
    row = compared(placed("base", LUCK["base"], 2), placed("head", LUCK["head"], 2, slower=0.1))

    assert row.verdict == "regression"
    assert row.change == pytest.approx(np.expm1(0.115), abs=0.01)


def test_the_report_says_what_layouts_add_and_how_many_boots_it_takes() -> None:
    row = compared(placed("base", LUCK["base"][:4], 3), placed("head", LUCK["head"][:4], 3))

    assert row.reason.startswith("4 layouts per kernel are too few to decide")
    spread, needs = (each for each in row.notes if "layout" in each)
    assert spread == "spread 2.1% between layouts, 0.1% between boots of one layout"
    assert row.needs is not None
    assert 12 < row.needs <= 100
    assert needs == f"needs a layout for each boot: --boots {row.needs} --layouts {row.needs}"


def test_more_layouts_than_a_run_can_have_are_not_asked_for() -> None:
    base, head = ([luck * 2 for luck in LUCK[name][:4]] for name in ("base", "head"))
    row = compared(placed("base", base, 3), placed("head", head, 3))

    assert row.needs is None
    assert "needs more than 100 layouts of each kernel, the most that a run has" in row.notes


@pytest.mark.parametrize("named", [True, False], ids=["named", "without a name"])
def test_one_layout_against_several_is_one_draw(named: bool) -> None:
    head = placed("head", LUCK["head"][3:4], 24, slower=0.1)
    row = compared(placed("base", LUCK["base"], 3), head if named else in_one_layout(head))

    assert (row.verdict, row.reason.split(";")[0]) == ("inconclusive", "1 layout is too few to decide")


def test_every_report_says_how_many_layouts_the_boots_had() -> None:
    made = compare(placed("base", LUCK["base"], 2), placed("head", LUCK["head"], 2), noisy)

    assert isinstance(made, ComparisonSet)
    assert trials(made.base, made.head) == "16 boots per kernel, in 8 layouts"
    assert figures.counts(made.rows[0]) == "8 layouts"


def test_sides_with_different_numbers_of_layouts_have_both_told() -> None:
    made = compare(placed("base", LUCK["base"], 2), placed("head", LUCK["head"][:7], 2), noisy)

    assert isinstance(made, ComparisonSet)
    assert trials(made.base, made.head) == "16 and 14 boots, in 8 and 7 layouts"
    assert figures.counts(made.rows[0]) == "8/7 layouts"


def test_the_check_of_base_against_itself_says_whether_it_was_in_other_layouts() -> None:
    base, head, control = (placed(name, LUCK["base"], 2) for name in ("base", "head", "control"))
    made = compare(base, head, noisy, control=control)
    alone = compare(in_one_layout(base), in_one_layout(head), noisy, control=in_one_layout(control))

    assert isinstance(made, ComparisonSet)
    assert isinstance(alone, ComparisonSet)
    assert made.control is not None
    assert alone.control is not None
    assert figures.control(made.control).startswith("base vs base check in other layouts: ")
    assert figures.control(alone.control).startswith("base vs base check: ")


def test_as_many_layouts_as_boots_are_compared_like_boots() -> None:
    base, head = placed("base", LUCK["base"], 1), placed("head", LUCK["head"], 1)
    ours, plain = compared(base, head), compared(in_one_layout(base), in_one_layout(head))

    assert (ours.p, ours.ci_low, ours.ci_high) == (plain.p, plain.ci_low, plain.ci_high)


def test_counted_values_are_compared_as_they_are() -> None:
    base, head = (
        replace(side, boots=tuple(replace(boot, layout=f"{boot.index % 2}") for boot in side.boots))
        for side in (arm("base", {INT_GET: [100.0] * 4}), arm("head", {INT_GET: [101.0] * 4}))
    )
    made = compare(base, head, exact)

    assert isinstance(made, ComparisonSet)
    assert [(row.verdict, row.n_base) for row in made.rows] == [("regression", 4)]
