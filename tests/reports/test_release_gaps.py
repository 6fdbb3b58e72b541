"""What the report on releases leaves open has its reason: empty cells, and rows that were not judged."""

from types import SimpleNamespace
from typing import Any

import pytest

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


def row(benchmark: str, *values: float | None, verdict: str = "unchanged", **compared: Any) -> AuditRow:
    """A row with a value per release; its last step has the `verdict`."""
    base, head = values[-2:]
    about = {"change": None, "reason": "", "notes": (), **compared}
    last = SimpleNamespace(verdict=verdict, base=base, head=head, **about)
    functions: Any = SimpleNamespace(hidden_in="unchanged", moves=("a move",))
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
