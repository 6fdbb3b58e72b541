"""Several arms against the first one: one family, one control, and each arm judged as it would be alone where
values are exact.
"""

import numpy as np
import pytest
from arms import INT_GET, SEQ_GET, arm, exact, noisy

from cliffwatch.comparing.compare import compare_arms
from cliffwatch.comparing.comparison import CHANGES, ComparisonSet
from cliffwatch.failure import Failure
from cliffwatch.reports.context import NO_CONTEXT
from cliffwatch.reports.json_report import json_report
from cliffwatch.samples import Arm, CaseKey


def sets(base: Arm, heads: list[Arm], traits: object = exact) -> tuple[ComparisonSet, ...]:
    compared = compare_arms(base, heads, traits)  # type: ignore[arg-type]
    assert not isinstance(compared, Failure), compared
    return compared


def test_each_arm_is_compared_with_the_first_one() -> None:
    base = arm("base", {SEQ_GET: [100.0], INT_GET: [50.0]})
    heads = [arm("v1", {SEQ_GET: [104.0], INT_GET: [50.0]}), arm("v2", {SEQ_GET: [100.0], INT_GET: [48.0]})]
    one, two = sets(base, heads)

    assert [row.verdict for row in one.rows] == ["regression", "unchanged"]
    assert [row.verdict for row in two.rows] == ["unchanged", "improvement"]
    assert [(each.base.name, each.head.name) for each in (one, two)] == [("base", "v1"), ("base", "v2")]


def test_one_arm_more_leaves_exact_verdicts_as_they_are() -> None:
    base, head = arm("base", {SEQ_GET: [100.0]}), arm("v1", {SEQ_GET: [104.0]})

    among_three = sets(base, [head, arm("v2", {SEQ_GET: [100.0]})])[0]
    assert json_report(among_three, NO_CONTEXT) == json_report(sets(base, [head])[0], NO_CONTEXT)


def test_each_noisy_arm_is_judged_by_its_own_boots() -> None:
    base, slow, same = noise("base", 1), noise("slow", 2, factor=1.05), noise("same", 3)
    for heads in ([slow, same], [same, slow]):
        for compared, head in zip(sets(base, heads, noisy), heads, strict=True):
            row = compared.rows[0]
            alone = sets(base, [head], noisy)[0].rows[0]

            assert (row.verdict in CHANGES) == (head is slow)
            assert (row.base, row.head, row.change, row.p) == (alone.base, alone.head, alone.change, alone.p)


def noise(name: str, seed: int, factor: float = 1.0, rows: int = 20) -> Arm:
    rng = np.random.default_rng(seed)
    cases = [CaseKey("suite", f"bench-{index}") for index in range(rows)]
    values = {
        case: list(100 * (factor if case == cases[0] else 1) * np.exp(0.01 * rng.standard_normal(21)))
        for case in cases
    }
    return arm(name, values, mode="walltime")


def test_rows_of_all_arms_are_one_family_so_that_more_arms_are_stricter() -> None:
    base, head = noise("base", 1), noise("v1", 2, factor=1.03)
    further = [noise(f"v{number}", 2 + number) for number in range(2, 7)]
    alone = sets(base, [head], noisy)[0].rows[0]
    among = sets(base, [head, *further], noisy)[0].rows[0]

    assert alone.p == among.p
    assert alone.q is not None
    assert among.q is not None
    assert among.q >= alone.q
    assert alone.mde is not None
    assert among.mde is not None
    assert among.mde > alone.mde


def changed_families(seeds: range) -> int:
    """Of 5 arms x 20 rows of noise each: families in which anything is reported."""
    changed = 0
    for seed in seeds:
        base = noise("base", 1000 * seed)
        heads = [noise(f"v{number}", 1000 * seed + number) for number in range(1, 6)]
        changed += any(row.verdict in CHANGES for each in sets(base, heads, noisy) for row in each.rows)
    return changed


def test_equal_arms_report_no_change_more_often_than_one_family_may() -> None:
    """The error is of the report, not of each arm."""
    assert changed_families(range(20)) <= 1


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_one_report_in_a_hundred_of_equal_arms_says_anything() -> None:
    """At 1 % more than 12 of 500 come about by chance twice in a thousand times; at 3 % three
    times in four.
    """
    assert changed_families(range(1000, 1500)) <= 12


def test_a_control_counts_for_every_arm() -> None:
    base, control = noise("base", 1), noise("control", 1, factor=1.10)
    compared = compare_arms(base, [noise("v1", 3, factor=1.10), noise("v2", 4)], noisy, control=control)

    assert not isinstance(compared, Failure)
    assert [each.control.published for each in compared if each.control] == [1, 1]
    assert compared[0].rows[0].verdict == "invalid"


def test_an_arm_of_another_mode_is_refused() -> None:
    refused = compare_arms(
        arm("base", {SEQ_GET: [1.0]}), [arm("v1", {SEQ_GET: [1.0]}, mode="walltime")], exact
    )

    assert isinstance(refused, Failure)
    assert "different modes" in refused.message
