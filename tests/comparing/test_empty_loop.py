"""Rows less the empty loop: subtracted boot by boot, with the uncertainty of both, and never where it cannot
be.
"""

from dataclasses import replace

import numpy as np
import pytest
from arms import INT_GET, SEQ_GET, arm

from cliffwatch.comparing.compare import compare
from cliffwatch.comparing.comparison import ComparisonSet
from cliffwatch.formats.comparison import ComparisonRow
from cliffwatch.samples import Arm, CaseKey, MetricTraits, Mode

LOOP = CaseKey(SEQ_GET.suite, "seq-get-empty-loop", SEQ_GET.params)


def exact(case: CaseKey, metric: str, unit: str, mode: Mode | None) -> MetricTraits:
    loop = "seq-get-empty-loop" if case == SEQ_GET else ""
    return MetricTraits(better="lower", assume="exact", repeatability=0.001, empty_loop=loop)


def noisy(case: CaseKey, metric: str, unit: str, mode: Mode | None) -> MetricTraits:
    return replace(exact(case, metric, unit, mode), assume="nothing", repeatability=0.0)


def compared(base: Arm, head: Arm, traits: object = exact) -> ComparisonSet:
    answer = compare(base, head, traits)  # type: ignore[arg-type]
    assert isinstance(answer, ComparisonSet)
    return answer


def less_loop(base: Arm, head: Arm, traits: object = exact) -> ComparisonRow:
    (row,) = [row for row in compared(base, head, traits).rows if row.metric.endswith("-less-loop")]
    return row


def test_a_latency_is_shown_less_that_of_its_empty_loop() -> None:
    base = arm("base", {SEQ_GET: [30.0], LOOP: [10.0], INT_GET: [50.0]})
    head = arm("head", {SEQ_GET: [32.0], LOOP: [10.0], INT_GET: [50.0]})
    rows = compared(base, head).table_rows()

    assert [(row.case, row.metric.endswith("-less-loop")) for row in rows] == [
        (SEQ_GET, False),
        (SEQ_GET, True),
        (LOOP, False),
        (INT_GET, False),
    ]
    less = rows[1]
    assert (less.base, less.head, less.change) == (20.0, 22.0, pytest.approx(0.1))
    assert (less.verdict, less.primary, less.unit) == ("regression", False, "ns/op")


def test_each_side_has_its_own_loop_so_that_a_change_of_the_loop_alone_is_none_of_the_operation() -> None:
    base = arm("base", {SEQ_GET: [30.0], LOOP: [10.0]})
    head = arm("head", {SEQ_GET: [32.0], LOOP: [12.0]})

    assert less_loop(base, head).verdict == "unchanged"


def test_counted_values_are_as_uncertain_as_both_together_of_what_is_left_of_them() -> None:
    base = arm("base", {SEQ_GET: [100.0], LOOP: [90.0]})
    head = arm("head", {SEQ_GET: [100.1], LOOP: [90.0]})
    row = less_loop(base, head)

    assert row.change == pytest.approx(0.01)
    assert row.ci_low == pytest.approx(0.01 - 0.019, abs=1e-4)
    assert row.ci_high == pytest.approx(0.01 + 0.019, abs=1e-4)
    assert row.verdict != "regression"


def test_what_a_boot_does_to_both_cancels() -> None:
    rng = np.random.default_rng(1)
    hosts = [rng.normal(0, 2, 15) for _ in range(2)]
    base = arm("base", {SEQ_GET: list(60 + hosts[0]), LOOP: list(40 + hosts[0])}, mode="walltime")
    head = arm("head", {SEQ_GET: list(61 + hosts[1]), LOOP: list(40 + hosts[1])}, mode="walltime")
    row = less_loop(base, head, noisy)

    assert (row.base, row.head) == (pytest.approx(20.0), pytest.approx(21.0))
    assert row.verdict == "regression"


def test_boots_that_lack_the_loop_are_not_subtracted_from() -> None:
    base = arm("base", {SEQ_GET: [30.0, 90.0], LOOP: [10.0, 10.0]})
    base = replace(base, boots=(base.boots[0], replace(base.boots[1], samples=base.boots[1].samples[:1])))
    row = less_loop(base, arm("head", {SEQ_GET: [30.0], LOOP: [10.0]}))

    assert (row.n_base, row.base) == (1, 20.0)


@pytest.mark.parametrize(
    "values",
    [
        {SEQ_GET: [30.0]},
        {SEQ_GET: [30.0], CaseKey(SEQ_GET.suite, "seq-get-empty-loop", (("nr_maps", "99"),)): [10.0]},
    ],
    ids=["no loop was measured", "a loop of other parameters"],
)
def test_without_its_loop_a_row_stays_as_it_is(values: dict[CaseKey, list[float]]) -> None:
    rows = compared(arm("base", values), arm("head", values)).rows

    assert not [row for row in rows if row.metric.endswith("-less-loop")]


def test_a_loop_without_parameters_is_that_of_all_cases() -> None:
    bare = CaseKey(SEQ_GET.suite, "seq-get-empty-loop", ())
    side = {SEQ_GET: [30.0], bare: [10.0]}

    assert less_loop(arm("base", side), arm("head", side)).base == 20.0


def test_a_loop_that_takes_longer_than_the_case_gives_no_latency() -> None:
    row = less_loop(
        arm("base", {SEQ_GET: [30.0], LOOP: [31.0]}), arm("head", {SEQ_GET: [30.0], LOOP: [10.0]})
    )

    assert (row.verdict, row.change) == ("inconclusive", None)
    assert "negative value" in row.reason
