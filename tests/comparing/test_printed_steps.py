"""Noisy values with few digits: no change that rounding made, and no "unchanged" that it may hide."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from arms import SEQ_GET, arm, noisy
from click.testing import CliRunner

from cliffwatch.command.main import main
from cliffwatch.comparing.compare import compare
from cliffwatch.comparing.comparison import ComparisonSet
from cliffwatch.formats.comparison import ComparisonRow


def judged(base: Sequence[float], head: Sequence[float], step: float) -> ComparisonRow:
    compared = compare(
        arm("base", {SEQ_GET: base}, mode="walltime", resolution=step),
        arm("head", {SEQ_GET: head}, mode="walltime", resolution=step),
        noisy,
    )
    assert isinstance(compared, ComparisonSet)
    return compared.rows[0]


def boots(seed: int, centre: float, spread: float = 0.002, count: int = 21) -> list[float]:
    return [float(each) for each in centre * np.exp(np.random.default_rng(seed).normal(0, spread, count))]


def rounded(values: Sequence[float], digits: int) -> list[float]:
    return [round(value, digits) for value in values]


def test_a_change_of_two_per_cent_may_hide_in_three_decimals() -> None:
    row = judged(rounded(boots(1, 0.0344, 0.0005), 3), rounded(boots(2, 0.0336, 0.0005), 3), 0.001)
    assert row.base == row.head == pytest.approx(0.034)
    assert (row.verdict, row.needs) == ("inconclusive", None)
    assert (
        row.reason
        == "one step of the printed digits is 2.94%, which can hide a change of 1%: print more digits"
    )
    assert row.mde == pytest.approx(0.0294, abs=1e-4)
    assert row.ci_low == pytest.approx(-0.0294, abs=1e-4)
    assert row.ci_high == pytest.approx(0.0294, abs=1e-4)


def test_digits_enough_rule_a_change_out() -> None:
    row = judged(rounded(boots(1, 0.0344), 6), rounded(boots(2, 0.0344), 6), 0.000001)
    assert row.verdict == "unchanged"
    assert row.mde is not None
    assert row.mde < 0.01


def test_rounding_alone_makes_no_regression() -> None:
    row = judged([0.034] * 21, [0.035] * 21, 0.001)
    assert row.verdict == "inconclusive"
    assert (
        row.reason
        == "one step of the printed digits is 2.94%, which can make as much of a difference: print more"
        " digits"
    )


def test_a_change_of_several_steps_is_one() -> None:
    row = judged(rounded(boots(1, 0.0344), 3), rounded(boots(2, 0.0404), 3), 0.001)
    assert row.verdict == "regression"
    assert row.ci_low is not None
    assert 0.1 < row.ci_low < 0.15


def test_an_interval_is_wider_by_a_step_and_so_is_what_it_says() -> None:
    fine, coarse = (judged(boots(1, 30), boots(2, 30), step) for step in (0.0, 0.06))
    assert fine.ci_low is not None
    assert fine.ci_high is not None
    assert coarse.ci_low == pytest.approx(fine.ci_low - 0.002, abs=2e-5)
    assert coarse.ci_high == pytest.approx(fine.ci_high + 0.002, abs=2e-5)
    assert any(step.startswith("one step of the printed digits is 0.2") for step in coarse.steps)
    assert not any("digits" in step for step in fine.steps)


def test_more_boots_make_up_for_no_digit() -> None:
    row = judged([0.034, 0.035], [0.035, 0.034], 0.001)
    assert row.verdict == "inconclusive"
    assert "so that no number of boots shows a change of 1%" in row.reason
    assert row.needs is None


def test_boots_on_both_sides_of_a_rounding_are_no_two_modes() -> None:
    halves = [0.002] * 10 + [0.003] * 11
    assert judged(halves, [0.003] * 21, 0.001).notes == ()
    assert judged(halves, [0.003] * 21, 0.0).notes[0].startswith("two modes")


def test_a_file_says_its_digits_by_itself(tmp_path: Path) -> None:
    for name, value in (("a.txt", 0.0344), ("b.txt", 0.0336)):
        (tmp_path / name).write_text("".join(f"BenchmarkGet 1 {value:.3f} us/op\n" for _ in range(12)))
    shown = CliRunner().invoke(main, ["compare", str(tmp_path / "a.txt"), str(tmp_path / "b.txt")]).stdout
    assert "1 inconclusive" in shown
    assert "one step of the printed digits is 2.94%" in shown


def test_small_numbers_are_not_shown_as_zero(tmp_path: Path) -> None:
    for name, value in (("a.txt", 1.234e-9), ("b.txt", 2.5e-9)):
        (tmp_path / name).write_text("".join(f"BenchmarkGet 1 {value:.5e} s/op\n" for _ in range(12)))
    sides = str(tmp_path / "a.txt"), str(tmp_path / "b.txt")
    for format_ in ("text", "commit", "markdown", "mail", "html"):
        shown = CliRunner().invoke(main, ["compare", *sides, "--format", format_]).stdout
        assert "1.234e-09" in shown, format_
        assert "2.500e-09" in shown, format_


@pytest.mark.parametrize(("seed", "shift"), [(1, 0.1), (2, -0.1)])
def test_no_step_takes_the_interval_of_a_published_change_past_no_change(seed: int, shift: float) -> None:
    base, head = boots(seed, 100, 0.05, 8), boots(seed + 50, 100 * np.exp(shift), 0.05, 8)
    fine, coarse = (judged(base, head, step) for step in (0.0, 0.001))

    assert fine.verdict == coarse.verdict == ("regression" if shift > 0 else "improvement")
    for row in (fine, coarse):
        assert (row.ci_low if shift > 0 else row.ci_high) == 0
