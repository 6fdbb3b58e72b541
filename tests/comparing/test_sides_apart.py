"""Sides that did not take turns: said first in every report, with what a drift of the host would
look like.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.typing import NDArray

from cliffwatch.command.main import main
from cliffwatch.comparing.compare import compare
from cliffwatch.comparing.comparison import CHANGES, ComparisonSet
from cliffwatch.comparing.thresholds import Method
from cliffwatch.reports.answer import answer_set
from cliffwatch.reports.context import NO_CONTEXT
from cliffwatch.reports.json_reading import comparison_set_of
from cliffwatch.reports.json_report import comparison_document
from cliffwatch.samples import Arm, Boot, CaseKey, MetricTraits, Sample

ROWS, BOOTS, SPREAD = 30, 21, 0.004
APART = "Nothing says that base and head took turns"
ALIKE = "moved the same way by about 3 %: a drift of the host looks like this"


def side(name: str, seed: int, factor: Sequence[float], indexes: Sequence[int], rates: int = 0) -> Arm:
    """Thirty rows of 21 boots; the n-th boot of all rows is slower by the n-th factor. The first `rates` are
    rates.
    """
    noise = np.random.default_rng(seed).normal(0, SPREAD, (BOOTS, ROWS))
    boots = []
    for number, index in enumerate(indexes):
        samples = []
        for row in range(ROWS):
            time = 100 * (1 + row) * factor[number] * float(np.exp(noise[number, row]))
            metric, unit, value = ("hits", "ops/s", 1e9 / time) if row < rates else ("latency", "ns/op", time)
            samples.append(Sample(case=CaseKey("mine", f"row-{row}"), metric=metric, unit=unit, value=value))
        boots.append(Boot(index=index, block=number, samples=tuple(samples)))
    return Arm(name=name, label=name, mode="walltime", platform="amd-rome", boots=tuple(boots))


def traits(case: CaseKey, metric: str, *_: object) -> MetricTraits:
    return MetricTraits(better="higher" if metric == "hits" else "lower", assume="nothing")


def compared(base: Arm, head: Arm, *, one_run: bool) -> ComparisonSet:
    found = compare(base, head, traits, Method(one_run=one_run))
    assert isinstance(found, ComparisonSet)
    return found


def slower(arm: Arm, factors: Sequence[float]) -> Arm:
    """Each row of an arm by its factor."""
    boots = [
        replace(
            boot,
            samples=tuple(
                each._replace(value=each.value * factor)
                for each, factor in zip(boot.samples, factors, strict=True)
            ),
        )
        for boot in arm.boots
    ]
    return replace(arm, boots=tuple(boots))


FILE = range(1, BOOTS + 1)
STEADY = [1.0] * BOOTS


def test_a_host_that_drifts_between_two_files_is_said_first() -> None:
    seen = compared(side("a", 1, STEADY, FILE), side("b", 2, [1.03] * BOOTS, FILE), one_run=False)
    first, second = seen.warnings
    assert first.startswith(APART)
    assert "cliffwatch run --base REV --head REV" in first
    assert second.startswith(f"30 of 30 times and rates {ALIKE}")


def test_rows_that_all_move_together_are_one_statement_and_no_change_of_each() -> None:
    seen = compared(side("a", 1, STEADY, FILE), side("b", 2, [1.03] * BOOTS, FILE), one_run=False)
    assert seen.counts()["inconclusive"] == ROWS
    for row in seen.rows:
        assert row.reason.startswith("drift: nearly all times and rates moved by about 3 %")
        assert row.change is not None
        assert row.ci_low is not None
        assert row.ci_high is not None
        assert row.ci_low < 0 < row.change < row.ci_high
    (mean,) = seen.means
    assert mean.ci_low is not None
    assert mean.ci_low < 0 < mean.change


def test_a_row_that_moves_far_more_than_all_others_is_told() -> None:
    head = side("b", 2, [1.03] * BOOTS, FILE)
    seen = compared(side("a", 1, STEADY, FILE), slower(head, [1.3, *[1.0] * 29]), one_run=False)
    assert [row.case.benchmark for row in seen.changed_rows()] == ["row-0"]
    assert (
        str(answer_set(seen))
        == "1 differs between the two measurements (1 slower) by 33.9 %, 29 inconclusive"
    )


def test_rates_that_fall_and_times_that_rise_moved_the_same_way() -> None:
    seen = compared(side("a", 1, STEADY, FILE, 15), side("b", 2, [1.03] * BOOTS, FILE, 15), one_run=False)
    assert seen.warnings[1].startswith(f"30 of 30 times and rates {ALIKE}")


def test_a_drift_while_files_are_measured_is_seen_in_the_order_of_boots() -> None:
    """Three per cent in each file: six from the first boot of base to the last of head."""
    rising = np.exp(np.linspace(0, 0.06, 2 * BOOTS))
    seen = compared(
        side("a", 1, list(rising[:BOOTS]), FILE), side("b", 2, list(rising[BOOTS:]), FILE), one_run=False
    )
    assert len(seen.warnings) == 3
    assert re.search(
        r"times and rates drift by about (2.8|2.9|3|3.1) % while they are measured", seen.warnings[2]
    )


@pytest.mark.parametrize("seed", range(5))
def test_equal_kernels_on_a_steady_host_are_told_apart_from_that(seed: int) -> None:
    seen = compared(side("a", 10 + seed, STEADY, FILE), side("b", 20 + seed, STEADY, FILE), one_run=False)
    assert len(seen.warnings) == 1
    assert seen.warnings[0].startswith(APART)


SOME = [*[1.03] * 12, *[1.0] * 18]
MOST = [*[1.03] * 24, *[0.97] * 6]
UNLIKE = [1.01 * 1.02 ** (number * number / 30) for number in range(ROWS)]


@pytest.mark.parametrize("factors", [SOME, MOST, UNLIKE], ids=["some", "most", "of-unlike-size"])
def test_rows_that_changed_each_its_own_way_are_no_drift(factors: Sequence[float]) -> None:
    seen = compared(side("a", 1, STEADY, FILE), slower(side("b", 2, STEADY, FILE), factors), one_run=False)
    assert seen.counts()["regression"] > 5
    assert len(seen.warnings) == 1
    assert " differ between the two measurements (" in str(answer_set(seen))


@pytest.mark.parametrize("shape", ["walk", "ramp", "step", "wave"])
def test_what_drifts_in_each_row_is_inconclusive_by_drift(shape: str) -> None:
    """Each row its own way, both files one after the other; benchstat's rule flags nearly every row."""
    generator = np.random.default_rng(38)
    places = np.arange(2 * BOOTS)
    drifts = {
        "walk": 0.01 * np.cumsum(generator.normal(size=(ROWS, 2 * BOOTS)), axis=1),
        "ramp": 0.002 * generator.choice([-2, -1, 1, 2], (ROWS, 1)) * places,
        "step": (
            0.04 * generator.choice([-1, 1], (ROWS, 1)) * (places >= generator.integers(5, 37, (ROWS, 1)))
        ),
        "wave": 0.03 * np.sin(2 * np.pi * (places / 60 + generator.random((ROWS, 1)))),
    }[shape]
    base, head = (side(name, seed, STEADY, FILE) for name, seed in (("a", 1), ("b", 2)))
    seen = compared(drifting(base, drifts[:, :BOOTS]), drifting(head, drifts[:, BOOTS:]), one_run=False)
    assert seen.changed_rows() == ()
    assert sum(row.reason.startswith("drift: ") for row in seen.rows) > ROWS / 2


def drifting(arm: Arm, drifts: NDArray[np.float64]) -> Arm:
    boots = [
        replace(
            boot,
            samples=tuple(
                each._replace(value=each.value * float(np.exp(drift)))
                for each, drift in zip(boot.samples, drifts[:, number], strict=True)
            ),
        )
        for number, boot in enumerate(arm.boots)
    ]
    return replace(arm, boots=tuple(boots))


def test_values_that_repeat_exactly_do_not_drift() -> None:
    """As sizes and allocations do: ten alike and then ten others are a change, whenever they were counted."""
    base, head = (
        Arm(
            name=name,
            label=name,
            mode="walltime",
            platform="amd-rome",
            boots=tuple(
                Boot(
                    index=number,
                    block=number,
                    samples=(Sample(case=CaseKey("mine", "size"), metric="size", unit="B", value=value),),
                )
                for number in FILE
            ),
        )
        for name, value in (("a", 100.0), ("b", 110.0))
    )
    (row,) = compared(base, head, one_run=False).rows
    assert row.verdict == "regression"


def test_a_broad_change_measured_in_turns_is_a_change() -> None:
    seen = compared(
        side("a", 1, STEADY, range(1, 2 * BOOTS, 2)),
        side("b", 2, [1.03] * BOOTS, range(2, 2 * BOOTS + 1, 2)),
        one_run=True,
    )
    assert seen.counts()["regression"] == ROWS
    assert seen.warnings == ()


def test_a_drift_that_both_arms_share_in_turns_makes_no_warning() -> None:
    slower = np.exp(np.linspace(0, 0.03, 2 * BOOTS))
    seen = compared(
        side("a", 1, list(slower[::2]), range(1, 2 * BOOTS, 2)),
        side("b", 2, list(slower[1::2]), range(2, 2 * BOOTS + 1, 2)),
        one_run=True,
    )
    assert not any(row.verdict in CHANGES for row in seen.rows)
    assert seen.warnings == ()


def test_one_run_that_booted_one_arm_after_the_other_says_so() -> None:
    seen = compared(
        side("a", 1, STEADY, FILE),
        side("b", 2, [1.03] * BOOTS, range(BOOTS + 1, 2 * BOOTS + 1)),
        one_run=True,
    )
    assert [warning.split(":")[0] for warning in seen.warnings] == [
        f"{APART}",
        "30 of 30 times and rates moved the same way by about 3 %",
    ]
    assert seen.changed_rows() == ()


@pytest.mark.parametrize("boots", [3, 5])
def test_few_boots_of_one_arm_after_the_other_did_not_take_turns_either(boots: int) -> None:
    first, second = (
        replace(each, boots=each.boots[:boots])
        for each in (side("a", 1, STEADY, FILE), side("b", 2, STEADY, range(BOOTS + 1, 2 * BOOTS + 1)))
    )
    assert not compared(first, second, one_run=True).took_turns


def test_counted_values_know_no_drift() -> None:
    def counted(*_: object) -> MetricTraits:
        return MetricTraits(better="lower", assume="exact", repeatability=0.05)

    found = compare(side("a", 1, STEADY, FILE), side("b", 2, STEADY, FILE), counted, Method(one_run=False))
    assert isinstance(found, ComparisonSet)
    assert found.warnings == ()


def test_counted_changes_of_two_files_are_changes_beside_noisy_ones_that_differ() -> None:
    def mixed(case: CaseKey, *_: object) -> MetricTraits:
        exact = case.benchmark == "row-0"
        return MetricTraits(
            better="lower", assume="exact" if exact else "nothing", repeatability=0.05 * exact
        )

    head = slower(side("b", 2, STEADY, FILE), [1.3, 1.3, *[1.0] * 28])
    found = compare(side("a", 1, STEADY, FILE), head, mixed, Method(one_run=False))
    assert isinstance(found, ComparisonSet)
    assert str(answer_set(found)).startswith(
        "1 differs between the two measurements (1 slower) by 29.9 %, 1 slower ("
    )


def test_warnings_are_in_documents_and_come_back_from_them() -> None:
    seen = compared(side("a", 1, STEADY, FILE), side("b", 2, STEADY, FILE), one_run=False)
    document = comparison_document(seen, NO_CONTEXT)
    assert tuple(warning.text for warning in document.warnings) == seen.warnings
    assert comparison_set_of(document, document.comparisons).warnings == seen.warnings


@pytest.mark.parametrize("format_", ["text", "commit", "markdown", "mail", "html", "json"])
def test_every_report_of_two_files_says_it_in_its_first_lines(tmp_path: Path, format_: str) -> None:
    for name, factor, seed in (("a.txt", 1.0, 1), ("b.txt", 1.03, 2)):
        noise = np.random.default_rng(seed).normal(0, SPREAD, (12, 8))
        lines = [
            f"BenchmarkRow{row} 1 {100 * factor * float(np.exp(noise[boot, row])):.4f} ns/op 12 allocs/op"
            f" 0.003 J/op {7 + row % 3 + boot % 2} score"
            for boot in range(12)
            for row in range(8)
        ]
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    sides = str(tmp_path / "a.txt"), str(tmp_path / "b.txt")
    shown = CliRunner().invoke(main, ["compare", *sides, "--format", format_]).stdout
    flat = " ".join(shown.split())
    assert APART in flat
    assert f"8 of 8 times and rates {ALIKE}" in flat
    assert "8 slower" not in flat
    assert format_ == "commit" or flat.index(APART) < flat.index("Row0")


def go_file(path: Path, seed: int, factors: Sequence[float]) -> str:
    """A file of the Go benchmark format: 12 runs of a benchmark for each factor."""
    noise = np.random.default_rng(seed).normal(0, SPREAD, (12, len(factors)))
    path.write_text(
        "".join(
            f"BenchmarkRow{row} 1 {100 * factor * float(np.exp(noise[boot, row])):.4f} ns/op\n"
            for boot in range(12)
            for row, factor in enumerate(factors)
        )
    )
    return str(path)


@pytest.mark.parametrize("format_", ["text", "markdown", "mail", "html"])
def test_what_drift_leaves_is_headed_as_a_difference_of_two_measurements_and_fails_a_check(
    tmp_path: Path, format_: str
) -> None:
    base = go_file(tmp_path / "a.txt", 1, [1.0] * 5)
    head = go_file(tmp_path / "b.txt", 2, [1.5, 1.0, 1.0, 1.0, 1.0])
    ran = CliRunner().invoke(main, ["compare", base, head, "--format", format_, "--fail-on", "regression"])
    flat = " ".join(ran.stdout.split())
    assert "1 differs between the two measurements (1 slower)" in flat
    assert ran.exit_code == 1


def test_what_drift_hides_fails_no_check(tmp_path: Path) -> None:
    base, head = go_file(tmp_path / "a.txt", 1, [1.0] * 8), go_file(tmp_path / "b.txt", 2, [1.03] * 8)
    ran = CliRunner().invoke(main, ["compare", base, head, "--fail-on", "regression"])
    assert (ran.exit_code, "slower" in ran.stdout) == (0, False)


def test_a_mail_of_a_difference_says_so_in_its_subject_and_first_sentence(tmp_path: Path) -> None:
    base = go_file(tmp_path / "a.txt", 1, [1.0] * 5)
    head = go_file(tmp_path / "b.txt", 2, [1.5, 1.0, 1.0, 1.0, 1.0])
    shown = CliRunner().invoke(main, ["compare", base, head, "--format", "mail"]).stdout
    flat = " ".join(shown.split())
    assert "Row0 differs between the two measurements: +50.3% Hello," in flat
    assert "cliffwatch noticed: 1 differs between the two measurements (1 slower)" in flat
    assert "Differences between the two measurements with their intervals:" in shown
