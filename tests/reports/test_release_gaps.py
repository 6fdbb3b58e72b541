"""What the report on releases leaves open has its reason: empty cells, and rows that were not judged."""

from types import SimpleNamespace
from typing import Any

import pytest

from cliffwatch.comparing.attribution.changes import Move
from cliffwatch.comparing.attribution.operations import Function
from cliffwatch.reports import figures
from cliffwatch.reports.several.releases import gaps, words
from cliffwatch.reports.several.releases.audit import AuditRow, Cell, Release, Step, SuiteAudit
from cliffwatch.samples import CaseKey

RELEASES = tuple(
    Release(name=name, version=f"{name}.0", commit="c" * 40, sections={}, config_notes=())
    for name in ("6.1", "6.12", "7.3")
)
EMPTY = "failed: no such map"


def suite(*rows: AuditRow, empty_cases: Any = ()) -> SuiteAudit:
    return SuiteAudit(name="crypto", rows=rows, empty_cases=empty_cases, sweeps=(), notes=(), seconds=0.0)


def function(name: str) -> Function:
    return Function("kernel", name)


def row(benchmark: str, *values: float | None, verdict: str = "unchanged", **compared: Any) -> AuditRow:
    """A row with a value per release; its last step has the `verdict`."""
    base, head = values[-2:]
    moves = compared.pop("moves", (Move((function("from"),), (function("to"),), 0.0),))
    about = {"change": None, "reason": "", "notes": (), **compared}
    last = SimpleNamespace(verdict=verdict, base=base, head=head, **about)
    functions: Any = SimpleNamespace(hidden_in="unchanged", moves=moves)
    step = Step(earlier="6.12", later="7.3", row=last, functions=functions)  # type: ignore[arg-type]
    return AuditRow(
        case=CaseKey("crypto", benchmark),
        metric="insns",
        unit="insns/op",
        bench="7.3",
        cells=tuple(Cell(value=value, reason="" if value is not None else EMPTY) for value in values),
        steps=(None, step),
    )


def test_empty_cells_of_one_reason_are_told_in_a_line() -> None:
    found = suite(row("lookup", None, None, 3.0), row("update", None, None, 4.0))

    assert list(gaps.unmeasured(found, RELEASES)) == [f"6.1 and 6.12: 2 cases, such as lookup: {EMPTY}"]


def test_a_case_that_no_release_measured_is_told_in_a_line() -> None:
    slow = Cell(value=None, reason="not finished after 30 s of guest time")
    found = suite(empty_cases=((CaseKey("crypto", "bpf-loop"), (slow, slow, slow)),))

    told = list(gaps.unmeasured(found, RELEASES))
    assert told == ["no release: bpf-loop: not finished after 30 s of guest time"]


def test_a_row_that_was_not_judged_has_its_sign_and_its_reason_and_moved_no_cost() -> None:
    reason = "base failed in 1 of 2 boots: failed: the head of the list is gone"
    failed = row("encrypt", 9.0, 9.0, 3.0, verdict="failed", reason=reason)
    found = suite(failed)

    assert words.change(failed.steps[1]) == "!"
    assert list(gaps.unjudged(found)) == [
        "6.12 to 7.3, not judged: encrypt: 6.12 failed in 1 of 2 boots: failed: the head of the list is gone"
    ]
    audit: Any = SimpleNamespace(suites=(found,), releases=RELEASES)
    assert list(words.moved(audit)) == []
    assert "0 unchanged, 1 not judged, of 1 row." in list(words.counts(audit))[1]


def test_a_row_without_a_value_on_one_side_is_not_among_those_that_were_not_judged() -> None:
    lone = row("encrypt", None, None, 3.0, verdict="failed", reason="base: failed: no such map")
    audit: Any = SimpleNamespace(suites=(suite(lone),), releases=RELEASES)

    assert words.change(lone.steps[1]) == "-"
    assert list(gaps.unjudged(suite(lone))) == []
    assert "1 measured in one of them alone, of 1 row." in list(words.counts(audit))[1]


@pytest.mark.parametrize(
    ("said", "named"),
    [
        ("not executed in base", "not executed in 6.12"),
        ("1 boot of head failed", "1 boot of 7.3 failed"),
        ("list head moved", "list head moved"),
    ],
)
def test_base_and_head_have_the_names_of_their_releases(said: str, named: str) -> None:
    step = row("encrypt", 1.0, 1.0, 1.0).steps[1]

    assert step is not None
    assert gaps.name_sides(said, step) == named


def test_a_large_difference_that_is_not_reported_has_its_reason() -> None:
    below = row("walk", 29.0, 29.0, 26.7, change=-0.0804, reason="real, but below the threshold of 12.88%")
    small = row("open", 100.0, 100.0, 101.0, change=0.01, reason="real, but below the threshold of 2%")

    assert list(gaps.unreported(suite(below, small))) == [
        "6.12 to 7.3, not reported: walk -8.04 %: real, but below the threshold of 12.88%"
    ]


def test_moves_between_the_same_functions_are_told_once() -> None:
    moves = [Move((function("from"),), (function("to"),), net) for net in (-8.0, -7.99)]
    rows = [row(name, 1.0, 1.0, 1.0, moves=(move,)) for name, move in zip(("a", "b"), moves, strict=True)]
    audit: Any = SimpleNamespace(suites=(suite(*rows),), releases=RELEASES)

    assert list(words.moved(audit)) == [
        "crypto, 6.12 to 7.3, 2 rows, such as a: moved from from to to, net -8.00"
    ]


def test_how_values_are_measured_claims_no_repetition_of_what_is_not_counted() -> None:
    assert "Most repeat exactly; the others have a threshold of their own" in words.HOW
    assert set(figures.SIGNS.values()) - {" ", "-"} <= set(words.SIGNS)
