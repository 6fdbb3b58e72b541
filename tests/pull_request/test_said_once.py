"""What several cases share is said once, and what failed is counted first, in whatever is written of a
comparison.
"""

import random
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from msgspec import structs
from states import compared, measured, regressed, row, state

from cliffwatch.command.main import main
from cliffwatch.comparing.comparison import NOT_IN_TURNS
from cliffwatch.comparing.validity import drift_notes
from cliffwatch.pull_request.comment import check_run, regression_comment, sticky_comment
from cliffwatch.reports.answer import Circumstances, answer_across, answer_set
from cliffwatch.reports.json_report import comparison_row
from cliffwatch.reports.several.across import across, name_targets
from cliffwatch.stats.noise.drifts import Drift

DRIFT = "may differ by"


def go_file(path: Path, seed: int, shift: float = 0.0) -> str:
    """Eight benchmarks of twelve boots, each noisier than the one before, on a host that grows slower."""
    noise = random.Random(seed)
    lines = [
        f"BenchmarkRow{case}-8 1000"
        f" {100 * (1 + shift * (case % 3) + 0.004 * (case + 1) * noise.gauss(0, 1) + 0.002 * boot)} ns/op"
        for boot in range(12)
        for case in range(8)
    ]
    path.write_text("\n".join(lines) + "\n")
    return str(path)


@pytest.mark.parametrize("format_", ["text", "markdown", "mail", "html", "benchstat"])
def test_drift_is_said_once_with_the_range_of_what_it_can_do(tmp_path: Path, format_: str) -> None:
    base, head = go_file(tmp_path / "a.txt", 1), go_file(tmp_path / "b.txt", 2, 0.02)
    shown = " ".join(CliRunner().invoke(main, ["compare", base, head, "--format", format_]).stdout.split())
    words = shown.replace("<br>", " ").replace("\N{MIDDLE DOT}", " ")

    assert words.count(DRIFT) == 1
    assert " to " in words.partition(DRIFT)[2][:12]
    assert "Row0" in words
    assert "and 4 more" in words or format_ == "html"


def test_a_comment_says_once_why_cases_are_open() -> None:
    rows = [
        structs.replace(each, verdict="inconclusive", reason="drift: of the host") for each in regressed()
    ]
    text = sticky_comment(state(measured(*rows)))

    assert [part.count("drift: of the host") for part in text.split("<summary>Full results")] == [1, 1]


def test_a_drift_that_arms_share_is_one_note_with_its_range() -> None:
    seen = [Drift(total=0.02, p=1e-4), None, Drift(total=-0.05, p=3e-3), Drift(total=0.0001, p=1e-3)]
    notes = drift_notes(seen, 0.01)

    assert [note is not None for note in notes] == [True, False, True, False]
    assert notes[0] == notes[2]
    assert "drifted by -4.9 to +2.0 % over the run (p at most 0.003)" in str(notes[0])
    assert "by +2.0 % over the run (p = 0.0001)" in str(drift_notes(seen[:1], 0.01)[0])


def failed_and_changed() -> list[object]:
    return [
        row("seq", 0.05, "regression"),
        row("int", -0.05, "improvement"),
        row("gone", None, "missing"),
        row("oops", None, "failed"),
        row("same", 0.0, "unchanged"),
    ]


def test_headlines_count_what_failed_first() -> None:
    rows = failed_and_changed()
    told = compared(*rows)  # type: ignore[arg-type]
    targets = name_targets([("amd-rome", "walltime")])
    over_targets = across([[comparison_row(each) for each in told.primary_rows()]])

    counts = "1 failed, 1 slower (5.0 % more time), 1 faster (5.0 % less time), 1 missing, 1 unchanged"

    assert str(answer_set(told)) == counts
    assert str(answer_across(over_targets, targets, Circumstances(in_turns=True))) == counts
    assert check_run(state(measured(*rows))).title == counts  # type: ignore[arg-type]


def test_they_do_where_sides_did_not_take_turns() -> None:
    told = compared(*failed_and_changed(), took_turns=False)  # type: ignore[arg-type]
    targets = name_targets([("amd-rome", "walltime")])
    over_targets = across([[comparison_row(each) for each in told.primary_rows()]])
    differ = "1 failed, 2 differ between the two measurements (1 slower, 1 faster) by up to 5.0 %, "

    assert str(answer_set(told)).startswith(differ)
    assert str(answer_across(over_targets, targets, Circumstances(in_turns=False))).startswith(differ)


def test_a_comment_says_that_two_measurements_differ_where_sides_did_not_take_turns() -> None:
    rows = regressed()
    apart = replace(
        measured(*rows), compared=compared(*rows, took_turns=False, warnings=(f"{NOT_IN_TURNS}.",))
    )
    text, title = sticky_comment(state(apart)), check_run(state(apart)).title
    count = sum(each.verdict == "regression" for each in rows)
    differ = f"{count} {'differs' if count == 1 else 'differ'} between the two measurements ("

    assert differ in text.splitlines()[1] or differ in " ".join(text.split())
    assert title.startswith(differ)
    assert "between the two measurements confirmed on fresh boots" in str(regression_comment(state(apart)))
    assert "between the two measurements" not in sticky_comment(state(measured(*rows)))


def test_counted_values_of_sides_that_did_not_take_turns_are_changes() -> None:
    rows = [row("seq", 0.05, "regression", mode="icount")]
    apart = replace(measured(*rows), compared=compared(*rows, took_turns=False))

    assert "between the two" not in sticky_comment(state(("emulated-x86-64", "icount", apart)))
