"""The logic of tools/measure_aa.py: what suites/repeatability.csv gets from runs of a kernel
against itself.
"""

import csv
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import measure_aa
import pytest
from arms import SEQ_GET, arm
from made_documents import made_record

from cliffwatch.formats.result_directory import Run

RECORD = made_record(created="2026-11-22T17:50:50+00:00", host={"programs": {"qemu": "7.2.22"}})


def run_of(
    base: Sequence[float], head: Sequence[float], *, resolution: float = 0.0, release: str = "6.12.117"
) -> Run:
    arms = {
        name: replace(arm(name, {SEQ_GET: values}, resolution=resolution), facts={"release": release})
        for name, values in (("base", base), ("head", head))
    }
    return Run(path=Path("run"), record=RECORD, arms=arms, stages=None)


def test_boots_of_both_sides_and_of_all_runs_are_boots_of_one_kernel() -> None:
    (row,) = measure_aa._repeated([run_of([100.0, 100.5], [100.2]), run_of([101.0], [100.9])])

    assert (row.case, row.metric, row.boots) == (str(SEQ_GET), "latency", 5)
    assert row.difference == pytest.approx(0.01)
    assert (row.kernel, row.emulator, row.day) == ("6.12.117", "QEMU 7.2.22", "2026-11-22")


def test_a_step_of_the_printed_digits_is_no_difference() -> None:
    (one_step,) = measure_aa._repeated([run_of([0.402], [0.403], resolution=0.001)])
    (two_steps,) = measure_aa._repeated([run_of([0.400], [0.402], resolution=0.001)])

    assert one_step.difference == pytest.approx(0.0, abs=1e-9)
    assert two_steps.difference == pytest.approx(0.0025)


def test_runs_of_two_kernels_are_refused() -> None:
    with pytest.raises(SystemExit, match="different kernels"):
        list(measure_aa._repeated([run_of([1.0], [1.0]), run_of([1.0], [1.0], release="7.3.4")]))


def test_rows_of_the_same_cases_are_replaced_and_noisy_ones_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measure_aa, "suites_folder", lambda: tmp_path)
    (row,) = measure_aa._repeated([run_of([100.0], [101.0])])
    noisy = row._replace(case="lpm-trie-insert")

    assert measure_aa._write([row, noisy]) == 1
    assert measure_aa._write([row._replace(difference=0.5), row._replace(metric="throughput")]) == 2
    with (tmp_path / "repeatability.csv").open() as lines:
        assert [(each["metric"], each["difference"]) for each in csv.DictReader(lines)] == [
            ("latency", "0.5"),
            ("throughput", "0.01"),
        ]
