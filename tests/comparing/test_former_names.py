"""A benchmark that was renamed is compared under its present name where its suite says so, and never because
names are alike.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from arms import arm
from click.testing import CliRunner

from cliffwatch.command.compare import compare
from cliffwatch.comparing.compare_run import Sides, compare_run
from cliffwatch.comparing.comparison import ComparisonSet
from cliffwatch.samples import Arm, CaseKey, CaseOutcome

FORMER = CaseKey("uprobes", "trig-uprobe-nop5")
PRESENT = CaseKey("uprobes", "trig-uprobe-nop10")
ALIKE = CaseKey("uprobes", "trig-uprobe-nop15")
LINKED = "trig-uprobe-nop5 as trig-uprobe-nop10"


def compared(base: Arm, head: Arm, **others: Arm) -> ComparisonSet:
    answer = compare_run(Sides(base=base, head=head, **others))  # type: ignore[arg-type]  # arms alone
    assert isinstance(answer, ComparisonSet)
    return answer


def rows(answer: ComparisonSet) -> Sequence[tuple[str, str]]:
    return [(row.case.benchmark, row.verdict) for row in answer.rows]


def test_a_declared_name_is_linked() -> None:
    base, head = arm("base", {FORMER: [10.0, 10.0]}), arm("head", {PRESENT: [20.0, 20.0]})

    answer = compared(base, head)
    back = compared(head, base)

    assert [(row.case, row.base, row.head) for row in answer.rows] == [(PRESENT, 10.0, 20.0)]
    assert [warning for warning in answer.warnings if LINKED in warning and "of base" in warning]
    assert [(row.case, row.base, row.head) for row in back.rows] == [(PRESENT, 20.0, 10.0)]
    assert [warning for warning in back.warnings if LINKED in warning and "of head" in warning]


def test_parameters_are_kept_and_told_apart() -> None:
    base = arm(
        "base", {FORMER._replace(params=(("p", "1"),)): [1.0], FORMER._replace(params=(("p", "4"),)): [4.0]}
    )
    head = arm("head", {PRESENT._replace(params=(("p", "4"),)): [4.0]})

    assert [(str(row.case), row.base, row.head) for row in compared(base, head).rows] == [
        ("trig-uprobe-nop10/p=1", 1.0, None),
        ("trig-uprobe-nop10/p=4", 4.0, 4.0),
    ]


@pytest.mark.parametrize(
    "other", [ALIKE, PRESENT._replace(suite="mine"), CaseKey("uprobes", "trig-usdt-nop10")]
)
def test_a_name_that_is_not_declared_is_not_linked(other: CaseKey) -> None:
    answer = compared(arm("base", {FORMER: [10.0]}), arm("head", {other: [20.0]}))

    assert {verdict for _, verdict in rows(answer)} == {"missing"}
    assert not [warning for warning in answer.warnings if "renamed" in warning]


def test_a_side_that_has_both_is_not_merged() -> None:
    base, head = arm("base", {FORMER: [10.0], PRESENT: [20.0]}), arm("head", {PRESENT: [20.0]})

    answer = compared(base, head)

    assert [(row.case, row.base, row.head) for row in answer.rows] == [
        (FORMER, 10.0, None),
        (PRESENT, 20.0, 20.0),
    ]
    assert [
        warning for warning in answer.warnings if "base has trig-uprobe-nop10 and trig-uprobe-nop5" in warning
    ]


def test_sides_of_one_name_keep_it() -> None:
    for base in (arm("base", {FORMER: [10.0]}), arm("base", {FORMER: [10.0], PRESENT: [20.0]})):
        answer = compared(base, replace(base, name="head"))

        assert answer.rows[0].case == FORMER
        assert not [warning for warning in answer.warnings if "renamed" in warning]


def test_what_a_tree_does_not_offer_is_no_second_name() -> None:
    """A run of the suite has both: one measured, and the other "unsupported"."""
    base = arm(
        "base", {FORMER: [10.0]}, outcomes=[CaseOutcome(case=PRESENT, status="unsupported", reason="not yet")]
    )
    head = arm(
        "head", {PRESENT: [20.0]}, outcomes=[CaseOutcome(case=FORMER, status="unsupported", reason="renamed")]
    )

    assert [(row.case, row.base, row.head) for row in compared(base, head).rows] == [(PRESENT, 10.0, 20.0)]


def test_a_failure_is_told_under_the_present_name() -> None:
    base = arm("base", {}, outcomes=[CaseOutcome(case=FORMER, status="failed", reason="no uprobe")])

    answer = compared(base, arm("head", {PRESENT: [20.0]}))

    assert rows(answer) == [("trig-uprobe-nop10", "failed")]
    assert answer.rows[0].reason == "base: no uprobe"


def test_every_arm_and_the_control_follow() -> None:
    base, control = arm("base", {FORMER: [10.0, 10.0]}), arm("control", {FORMER: [10.0, 10.0]})

    answer = compared(base, arm("head", {PRESENT: [20.0, 20.0]}), control=control)

    assert answer.control is not None
    assert answer.control.rows == 1


@pytest.mark.parametrize("format_", ["text", "commit", "markdown", "mail", "json", "html", "benchstat"])
def test_every_report_says_which_names_were_linked(tmp_path: Path, format_: str) -> None:
    for name, benchmark in (("base", FORMER.benchmark), ("head", PRESENT.benchmark)):
        line = (
            "Summary: hits   12.345 ± 0.010M/s ( 12.345M/prod), drops    0.000 ± 0.000M/s, total operations  "
            " 12.345 ± 0.010M/s\n"
        )
        (tmp_path / name).write_text(
            f"Setting up benchmark '{benchmark}'...\nBenchmark '{benchmark}' started.\n{line}"
        )

    ended = CliRunner().invoke(compare, [str(tmp_path / "base"), str(tmp_path / "head"), "--format", format_])

    assert ended.exit_code == 0
    said = json.dumps(json.loads(ended.output)["warnings"]) if format_ == "json" else ended.output
    assert LINKED in " ".join(said.split())
