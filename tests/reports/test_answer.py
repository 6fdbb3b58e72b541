"""The answer that every report opens with says how much, in words that say which way."""

import pytest
from made_documents import made_row

from cliffwatch.reports.answer import Circumstances, answer_across, name_failure
from cliffwatch.reports.figures import size_words
from cliffwatch.reports.several.across import across, name_targets
from cliffwatch.samples import Mode

ONE = name_targets([("amd-rome", "walltime")])


@pytest.mark.parametrize(
    ("change", "unit", "mode", "words"),
    [
        (-0.062, "M ops/s", "walltime", "6.2 % fewer operations a second"),
        (0.048, "ns/op", "walltime", "4.8 % more time"),
        (0.055, "insns/op", "icount", "5.5 % more instructions"),
        (0.055, "ns/op", "icount", "5.5 % more instructions"),
        (-0.2, "GB/s", "walltime", "20.0 % fewer bytes a second"),
        (0.0004, "kB", "walltime", "0.04 % more"),
    ],
)
def test_a_size_says_which_way(change: float, unit: str, mode: Mode, words: str) -> None:
    assert size_words(change, unit, mode) == words


def test_what_is_neither_time_nor_rate_is_worse_not_slower() -> None:
    rows = across([[made_row(verdict="regression", metric="memory", unit="kB", change=0.05)]])

    assert str(answer_across(rows, ONE, Circumstances(in_turns=True))) == "1 worse (5.0 % more)"


def test_the_cause_follows_what_the_changed_rows_share() -> None:
    changed = [made_row(verdict="regression", params={"n": each}, change=0.05) for each in "12"]
    rows = across([[*changed, made_row(verdict="unchanged", benchmark="other", change=0.0)]])
    causes = ("f no longer inlined into g", "h executes more instructions", "i inlined into j")

    assert answer_across(rows, ONE, Circumstances(in_turns=True, causes=causes)).why == (
        "All of seq-get: f no longer inlined into g; h executes more instructions; 1 more."
    )


def test_a_failure_names_its_first_error() -> None:
    assert name_failure("head: it does not build", "  CC core.o\ncore.c:3: error: x\nerror: y") == (
        "head: it does not build: core.c:3: error: x"
    )
    assert name_failure("head: it died", "no line says why") == "head: it died"


def test_a_cause_is_not_of_the_kind_named_before_it() -> None:
    """The functions may be those of the slower rows, and "all faster are of int-get" of the others."""
    slower = made_row(verdict="regression", change=0.05)
    faster = [
        made_row(verdict="improvement", benchmark="int-get", params={"n": each}, change=-0.02)
        for each in "12"
    ]
    beside = Circumstances(in_turns=True, causes=["f executes more instructions"])

    assert answer_across(across([[slower, *faster]]), ONE, beside).why == (
        "All faster are of int-get. Cause: f executes more instructions."
    )
