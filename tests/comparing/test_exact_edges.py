"""Verdicts on counted values at the edges: uncertainty and threshold met exactly, and the words
of the row.
"""

import pytest
from arms import SEQ_GET, arm

from cliffwatch.comparing.compare import compare
from cliffwatch.comparing.comparison import ComparisonSet
from cliffwatch.comparing.thresholds import Method
from cliffwatch.formats.comparison import ComparisonRow
from cliffwatch.samples import MetricTraits


def judged(
    base: list[float], head: list[float], *, repeatability: float = 0.0, threshold: float = 0.002
) -> ComparisonRow:
    def traits(*_: object) -> MetricTraits:
        return MetricTraits(better="lower", assume="exact", repeatability=repeatability)

    compared = compare(
        arm("base", {SEQ_GET: base}), arm("head", {SEQ_GET: head}), traits, Method(notable=threshold)
    )
    assert isinstance(compared, ComparisonSet)
    (row,) = compared.rows
    return row


def test_a_change_as_large_as_its_uncertainty_is_unchanged_where_that_rules_out_the_threshold() -> None:
    assert judged([1.0], [1.5], repeatability=0.5, threshold=0.5).verdict == "unchanged"
    assert judged([1.0], [1.5], repeatability=0.5, threshold=0.25).verdict == "inconclusive"


@pytest.mark.parametrize(
    ("head", "verdict"),
    [(137.0, "unchanged"), (136.0, "unchanged"), (138.0, "unchanged"), (140.0, "regression")],
)
def test_a_mean_that_go_cut_to_a_whole_number_changes_by_more_than_one_or_not_at_all(
    head: float, verdict: str
) -> None:
    base, other = (
        arm(name, {SEQ_GET: [value]}, metric="B/op", unit="B/op", resolution=1.0)
        for name, value in (("base", 137.0), ("head", head))
    )
    compared = compare(base, other, lambda *_: MetricTraits(better="lower", assume="exact"))
    assert isinstance(compared, ComparisonSet)
    (row,) = compared.rows
    assert row.verdict == verdict
    assert row.threshold == pytest.approx(2 / 137, rel=0.01)


def test_a_change_as_large_as_the_threshold_is_reported() -> None:
    assert judged([1.0], [1.25], threshold=0.25).verdict == "regression"


@pytest.mark.parametrize(
    ("head", "repeatability", "verdict"),
    [
        (1.375, 0.125, "regression"),  # may be smaller than the threshold, but repeats well enough
        (1.375, 0.25, "regression"),  # repeats just well enough
        (1.625, 0.5, "inconclusive"),  # may be smaller than the threshold, which does not repeat
        (1.75, 0.5, "regression"),  # as large as the threshold even at its smallest
        (2.0, 0.5, "regression"),
    ],
)
def test_a_change_that_may_be_small_is_open_where_values_repeat_worse_than_the_threshold(
    head: float, repeatability: float, verdict: str
) -> None:
    assert judged([1.0], [head], repeatability=repeatability, threshold=0.25).verdict == verdict


def test_an_open_row_names_what_makes_it_uncertain() -> None:
    row = judged([100.0, 100.4], [100.8, 100.8])

    assert row.verdict == "inconclusive"
    assert row.reason == "boots of one kernel that differ: up to 0.40%; measure longer"


def test_the_way_to_the_verdict_names_every_source_of_uncertainty_with_its_size() -> None:
    row = judged([100.0], [102.0], repeatability=0.001, threshold=0.01)

    assert row.steps == (
        "counted values: medians 100 and 102 ns/op, change +2.0000%",
        (
            "uncertain by 0.1000%, the largest of: the repeatability known of it 0.1000%, boots of one kernel"
            " that differ 0.0000%, readings that differ within a boot 0.0000%, one step of the printed digits"
            " 0.0000%"
        ),
        "threshold 1%: regression, beyond the repeatability of 0.100%",
    )


def test_a_case_whose_boots_differ_by_more_than_is_known_of_it_says_so() -> None:
    within, beyond = (
        judged([100.0, 100.04], [100.0], repeatability=5e-4),
        judged([100.0, 100.1], [100.0], repeatability=5e-4),
    )

    assert within.notes == ()
    assert beyond.notes == ("boots of one kernel differ by 0.10%, more than the 0.05% expected of it",)
    assert judged([100.0, 100.1], [100.0]).notes == (), (
        "a file that says its values are counted gives no repeatability"
    )
