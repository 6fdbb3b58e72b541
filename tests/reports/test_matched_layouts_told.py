"""Changes in matched layouts: what the boots show, and that every door says it beside the change itself."""

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from arms import SEQ_GET, arm
from click.testing import CliRunner
from golden import assert_golden

from cliffwatch.command.main import main
from cliffwatch.comparing.compare_run import Sides, compare_run
from cliffwatch.comparing.comparison import ComparisonSet
from cliffwatch.formats.verdicts import MatchedChange
from cliffwatch.reports.commit import commit_report
from cliffwatch.reports.context import NO_CONTEXT, ReportContext
from cliffwatch.reports.explain import explain_report
from cliffwatch.reports.exports.go_bench import go_bench_report, run_settings
from cliffwatch.reports.html import html_report
from cliffwatch.reports.json_report import json_report
from cliffwatch.reports.legend import placement
from cliffwatch.reports.mail.report import mail_report
from cliffwatch.reports.markdown import markdown_report
from cliffwatch.reports.several.benchstat import benchstat_report
from cliffwatch.reports.text import text_report
from cliffwatch.samples import Arm
from cliffwatch.stats.stages import ADAPTIVE

FORMATS: dict[str, Callable[[ComparisonSet, ReportContext], str]] = {
    "txt": partial(text_report, colour=False),
    "md": markdown_report,
    "mail": mail_report,
    "commit": commit_report,
    "html": html_report,
}
SCREEN, CONFIRM = 10, 14
SEEDS = {"base": 1, "head": 2, "matched": 3, "control": 4}


def measured(name: str, shift: float, noise: float = 0.004, confirm: int = CONFIRM) -> Arm:
    """An arm in the layouts of its own name, each boot in another; matched boots are in those of base."""
    draws = np.random.default_rng(SEEDS[name]).normal(0, noise, SCREEN + confirm)
    made = arm(name, {SEQ_GET: (100 * np.exp(shift + draws)).tolist()}, mode="walltime")
    of = "base" if name == "matched" else name
    boots = tuple(
        replace(boot, stage="screen" if number < SCREEN else "confirm", block=number, layout=f"{of}-{number}")
        for number, boot in enumerate(made.boots)
    )
    return replace(made, boots=boots[SCREEN:] if name == "matched" else boots)


def sides_with(matched: Arm | None, head: float = 0.05) -> Sides:
    return Sides(
        base=measured("base", 0.0),
        head=measured("head", head),
        matched=matched,
        stages=ADAPTIVE,
        one_run=True,
    )


def compared(matched: Arm | None, head: float = 0.05) -> ComparisonSet:
    found = compare_run(sides_with(matched, head))
    assert isinstance(found, ComparisonSet)
    return found


def change_of(found: ComparisonSet) -> MatchedChange:
    (row,) = found.rows
    assert row.verdict == "regression"
    assert row.matched is not None
    return row.matched


def test_a_change_is_of_the_layouts_of_the_stage_that_decided_it() -> None:
    (row,) = compared(None).rows
    assert (row.n_base, row.n_head, row.observed) == (CONFIRM, CONFIRM, "layout")


def test_a_change_that_matched_layouts_show_as_well_is_not_placement() -> None:
    change = change_of(compared(measured("matched", 0.05)))
    assert change.change == pytest.approx(np.expm1(0.05), abs=0.01)
    assert change.ci_low is not None
    assert change.ci_high is not None
    assert change.ci_low < change.change < change.ci_high
    assert (change.pairs, change.only_placement) == (CONFIRM, False)


def test_a_change_that_matched_layouts_rule_out_may_be_placement() -> None:
    assert change_of(compared(measured("matched", 0.0))).only_placement is True


def test_a_change_the_other_way_rules_out_the_change_as_well() -> None:
    assert change_of(compared(measured("matched", -0.05))).only_placement is True


def test_a_change_of_the_code_below_the_threshold_is_not_placement_alone() -> None:
    found = compared(measured("matched", 0.005, noise=0.001))
    assert change_of(found).only_placement is False
    assert placement(found.rows[0]).endswith(
        "the change is not due to placement alone, but without placement it is below the threshold of 1 %"
    )


def test_boots_that_spread_too_far_leave_it_open() -> None:
    found = compared(measured("matched", 0.015, noise=0.06))
    assert change_of(found).only_placement is None
    assert "these boots do not tell whether it is placement alone" in placement(found.rows[0])


def test_a_verdict_does_not_depend_on_matched_boots() -> None:
    (plain,) = compared(None).rows
    (row,) = compared(measured("matched", -0.05)).rows
    fields = ("verdict", "reason", "change", "ci_low", "ci_high", "p", "q", "n_head")
    assert [getattr(plain, name) for name in fields] == [getattr(row, name) for name in fields]
    assert plain.matched is None


def test_a_row_without_a_change_has_none_in_matched_layouts() -> None:
    (row,) = compared(measured("matched", 0.05), head=0.0).rows
    assert row.verdict == "unchanged"
    assert row.matched is None


def test_only_boots_of_one_block_in_one_layout_are_pairs() -> None:
    matched = measured("matched", 0.05)
    moved = (replace(matched.boots[0], layout="another"), replace(matched.boots[1], block=999))
    found = compared(replace(matched, boots=(*moved, *matched.boots[2:5])))
    change = change_of(found)
    assert (change.pairs, change.ci_low, change.ci_high, change.only_placement) == (3, None, None, None)
    assert "3 pairs of boots, too few for an interval" in placement(found.rows[0])
    (row,) = compared(replace(matched, boots=moved)).rows
    assert row.matched is None


@pytest.mark.parametrize("name", FORMATS)
def test_every_report_has_both_changes_side_by_side(name: str) -> None:
    assert_golden(f"matched.{name}", FORMATS[name](compared(measured("matched", 0.0)), NO_CONTEXT))


def test_so_do_the_explanation_benchstats_table_and_json() -> None:
    found = compared(measured("matched", 0.05))
    sentence = placement(found.rows[0])
    assert sentence.endswith("the change is not due to placement alone")
    assert f"  also: {sentence}" in (explain_report(found, "seq-get") or "")
    assert sentence in benchstat_report(found, NO_CONTEXT)
    (row,) = json.loads(json_report(found, NO_CONTEXT))["comparisons"]
    assert row["matched"].keys() == {"change", "ci_low", "ci_high", "pairs", "only_placement"}
    assert row["matched"]["only_placement"] is False


def test_an_exported_file_tells_it_again(tmp_path: Path) -> None:
    sides = sides_with(measured("matched", 0.0))
    assert sides.matched is not None
    arms = [sides.base, sides.head, sides.matched]
    settings = run_settings(None, ADAPTIVE, arms=arms)
    (tmp_path / "run.txt").write_text(go_bench_report(arms, sides.traits(), settings=settings))
    told = CliRunner().invoke(main, ["compare", str(tmp_path / "run.txt")])
    assert "may be due to placement alone" in " ".join(told.output.split()), told.output
    again = CliRunner().invoke(main, ["compare", str(tmp_path / "run.txt"), "--format", "go-bench"])
    (tmp_path / "again.txt").write_text(again.output)
    told = CliRunner().invoke(main, ["compare", str(tmp_path / "again.txt")])
    assert "may be due to placement alone" in " ".join(told.output.split()), told.output
