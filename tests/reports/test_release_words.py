"""The functions beside a change between releases are those that can be behind it."""

from types import SimpleNamespace
from typing import Any

import pytest

from cliffwatch.comparing.attribution.changes import FunctionChange, functions_of_whole
from cliffwatch.comparing.attribution.operations import Function
from cliffwatch.reports.several.releases.words import cause


def step(change: float, *, averaged: bool = False, **counts: tuple[float, float]) -> Any:
    """A step of a case that was counted as a whole, in which each function is called as often.

    `counts` are instructions of a call in both releases, by function, and in a whole case of 10,000.
    """
    changes = tuple(
        FunctionChange(
            Function("kernel", name), *sides, of_case=None if averaged else (sides[1] - sides[0]) / 10_000
        )
        for name, sides in counts.items()
    )
    functions = functions_of_whole(
        changes, measured=(64.0, 64.0 * (1 + change)), hidden_in=None, averaged=averaged
    )
    return SimpleNamespace(functions=functions, row=SimpleNamespace(change=change))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (0.33, "of the case's instructions: arg_track (new) +4.3 %, do_jit +10.0 %"),
        (-0.33, "of the case's instructions: clear_page (gone) -41.0 %"),
    ],
)
def test_of_calls_those_that_changed_the_way_of_the_case_are_named(change: float, said: str) -> None:
    assert (
        cause(step(change, clear_page=(4100.0, 0.0), arg_track=(0.0, 430.0), do_jit=(9000.0, 10000.0)))
        == said
    )


def test_averages_of_an_operation_are_named_as_such() -> None:
    counts = {"bpf_test_run": (20.0, 34.0), "timer": (26.0, 25.0)}
    assert cause(step(0.33, averaged=True, **counts)) == "bpf_test_run +14.00 (average)"


def test_a_function_that_became_cheaper_is_not_named_for_a_slower_case() -> None:
    assert cause(step(0.33, bh_enable=(14.65, 12.0))) == "no function changed in this direction"
