"""What readers get first: groups, filters and order of rows, and what a set of rows could detect."""

from dataclasses import dataclass, field
from typing import Any

import pytest
from made_documents import made_row

from cliffwatch.comparing import ordering
from cliffwatch.comparing.comparison import VERDICTS
from cliffwatch.comparing.ordering import (
    Detectable,
    detectable,
    is_beyond_noise,
    is_likely,
    natural_key,
    passes,
    sort_rows,
    standing,
)
from cliffwatch.formats.comparison import ComparisonRow


@dataclass
class Sortable:
    """A row as pages sort it."""

    benchmark: str
    verdict: str = "unchanged"
    size: float = 0.0
    sure: float = 0.0
    suite: str = "local-storage"
    metric: str = "hits-latency"
    params: dict[str, str] = field(default_factory=dict)
    more_than_chance: bool = False

    @property
    def group(self) -> str:
        return "likely" if self.more_than_chance else self.verdict


def row(verdict: str = "unchanged", **fields: Any) -> ComparisonRow:
    return made_row(**({"verdict": verdict, "change": 0.02, "ci_low": 0.01, "ci_high": 0.03} | fields))


def test_every_verdict_is_in_one_group_and_has_its_turn() -> None:
    listed = [verdict for group in ordering.GROUPS for verdict in group.verdicts]
    assert sorted(listed) == sorted([*VERDICTS, "disagree", "likely"])
    assert sorted([*ordering.ORDER, "likely"]) == sorted(listed)


def test_changed_is_whatever_is_reported_on_any_target() -> None:
    assert [verdict for verdict in ordering.ORDER if passes(verdict, "changed")] == [
        "disagree",
        "regression",
        "improvement",
        "changed",
    ]
    assert passes("failed", "failed")
    assert not passes("failed", "missing")


def test_likely_is_what_chance_makes_rarely_and_is_no_small_change() -> None:
    assert is_likely(row("inconclusive", p=0.004, change=0.05, threshold=0.01))
    assert not is_likely(row("inconclusive", p=0.2, change=0.05, threshold=0.01))
    assert not is_likely(row("inconclusive", p=0.004, change=0.005, threshold=0.01))
    assert not is_likely(row("inconclusive", p=None, change=None))
    assert not is_likely(row("regression", p=0.004, change=0.05, threshold=0.01))


def test_likely_rows_go_before_those_that_show_nothing() -> None:
    rows = [
        Sortable("nothing", "inconclusive", size=0.5),
        Sortable("likely", "inconclusive", size=0.1, more_than_chance=True),
    ]

    assert [each.benchmark for each in sort_rows(rows, "size")] == ["likely", "nothing"]


def test_by_size_only_changed_rows_go_first() -> None:
    rows = [
        Sortable("quiet", size=0.5),
        Sortable("small", "regression", size=0.01, sure=0.009),
        Sortable("large", "improvement", size=0.2, sure=0.001),
    ]
    assert [each.benchmark for each in sort_rows(rows, "size")] == ["large", "small", "quiet"]
    assert [each.benchmark for each in sort_rows(rows, "certainty")] == ["small", "large", "quiet"]
    assert [each.benchmark for each in sort_rows(rows, "name")] == ["large", "quiet", "small"]


def test_parameters_sort_as_people_count() -> None:
    given = ["nr_maps=16", "nr_maps=1", "nr_maps=17", "nr_maps=2", "nr_maps=10", "batch=4", "nr_maps"]
    expected = ["batch=4", "nr_maps", "nr_maps=1", "nr_maps=2", "nr_maps=10", "nr_maps=16", "nr_maps=17"]
    assert sorted(given, key=natural_key) == expected
    rows = [Sortable("get", params={"nr_maps": "16"}), Sortable("get", params={"nr_maps": "2"})]
    assert [each.params["nr_maps"] for each in sort_rows(rows, "name")] == ["2", "16"]


@pytest.mark.parametrize(
    ("bounds", "real"),
    [((0.01, 0.03), True), ((-0.03, -0.01), True), ((-0.01, 0.01), False), ((None, None), False)],
)
def test_a_difference_of_counted_values_is_real_where_their_band_lacks_zero(
    bounds: tuple[Any, Any], real: bool
) -> None:
    assert is_beyond_noise(row(verdict="unchanged", p=None, ci_low=bounds[0], ci_high=bounds[1])) is real


@pytest.mark.parametrize(
    ("verdict", "q", "real"),
    [
        ("regression", 0.004, True),
        ("unchanged", 0.004, True),
        ("unchanged", 0.4, False),
        ("inconclusive", 0.015, False),
    ],
)
def test_a_difference_of_noisy_values_is_real_where_its_verdict_says_so(
    verdict: str, q: float, real: bool
) -> None:
    """An interval of one row alone lacks zero somewhere in most reports of two hundred rows in which nothing
    changed.
    """
    assert is_beyond_noise(row(verdict=verdict, p=0.001, q=q, ci_low=0.01, ci_high=0.03)) is real


@pytest.mark.parametrize(
    ("counts", "word"),
    [
        ({"regression": 1, "improvement": 2, "failed": 1}, "both"),
        ({"regression": 1, "unchanged": 9}, "regression"),
        ({"improvement": 1, "missing": 1}, "trouble"),
        ({"improvement": 1, "unchanged": 9}, "improvement"),
        ({"changed": 1, "improvement": 1}, "changed"),
        ({"changed": 1, "regression": 1}, "regression"),
        ({"unchanged": 9}, "unchanged"),
        ({"unchanged": 9, "inconclusive": 1}, "inconclusive"),
        ({}, "inconclusive"),
    ],
)
def test_the_worst_verdict_decides_how_a_comparison_stands(counts: dict[str, int], word: str) -> None:
    assert standing(counts) == word


def test_detectable_changes_are_of_unchanged_rows_that_decide() -> None:
    rows = [
        row(mde=0.01),
        row(mde=0.02),
        row(mde=0.06),
        row(mde=0.5, primary=False),
        row("inconclusive", mde=0.4),
        row(mde=None),
    ]
    assert detectable(rows) == Detectable(median=0.02, largest=0.06)
    assert detectable([row("regression", mde=0.01)]) is None


def test_the_reach_of_reported_rows_leaves_out_the_others() -> None:
    rows = [
        row("regression"),
        row("improvement", ci_low=-0.2, ci_high=-0.1),
        row(),
        row("regression", ci_low=None),
    ]
    assert ordering.reported_reach(rows) == [0.03, 0.2]
