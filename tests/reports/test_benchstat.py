"""Reports in benchstat's shape: a table a unit, arms across."""

import pytest
from arms import CONTROL, INT_GET, SEQ_GET, arm, exact, noisy
from golden import assert_golden

from cliffwatch.comparing.compare import compare_arms
from cliffwatch.failure import Failure
from cliffwatch.reports.context import NO_CONTEXT
from cliffwatch.reports.several.benchstat import (
    benchstat_of_arms,
    benchstat_report,
    convert_unit,
    format_scaled,
)


def test_arms_stand_across_and_each_unit_has_its_table() -> None:
    base = arm("base", {SEQ_GET: [185.787], INT_GET: [173.4], CONTROL: [27571.0]})
    v1 = arm("v1", {SEQ_GET: [194.7], INT_GET: [173.4], CONTROL: [27571.0]})
    v2 = arm("v2", {SEQ_GET: [18.5], INT_GET: [170.1]})
    sets = compare_arms(base, [v1, v2], exact)

    assert not isinstance(sets, Failure)
    assert_golden("arms.benchstat", benchstat_of_arms(sets, NO_CONTEXT))


def test_a_noisy_row_has_its_p_value_and_its_spread() -> None:
    base = arm("base", {SEQ_GET: [100.0, 101.0, 99.0, 100.5, 99.5, 100.2] * 3}, mode="walltime")
    head = arm("head", {SEQ_GET: [90.0, 91.0, 89.0, 90.5, 89.5, 90.2] * 3}, mode="walltime")
    sets = compare_arms(base, [head], noisy)

    assert not isinstance(sets, Failure)
    assert_golden("noisy.benchstat", benchstat_report(sets[0], NO_CONTEXT))


@pytest.mark.parametrize(
    ("number", "unit", "text"),
    [
        (15038.0, "ns/op", "15.04µ"),
        (674.0, "ns/op", "674.0n"),
        (999.96, "ns/op", "1.000µ"),
        (5992.0, "B/op", "5.852Ki"),
        (256.0, "B/op", "256.0"),
        (358100.0, "allocs/op", "358.1k"),
        (0.0, "B/op", "0.000"),
        (2.5e9, "ns/op", "2.500"),
        (0.25, "misses/op", "250.0m"),
        (-3.0, "steps", "-3.000"),
    ],
)
def test_values_have_four_digits_that_count_and_a_prefix(number: float, unit: str, text: str) -> None:
    assert format_scaled(number, unit) == text


def test_units_are_called_as_benchstat_calls_them() -> None:
    assert convert_unit("ns/op") == ("sec/op", 1e-9)
    assert convert_unit("B/op") == ("B/op", 1.0)
    assert convert_unit("steps") == ("steps", 1.0)
