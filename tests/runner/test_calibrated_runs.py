"""A walltime run says before it begins how many boots its host's calibration suggests."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from cliffwatch.formats.calibration import FORMAT, CalibratedRow, CalibrationDocument
from cliffwatch_runner.run import prepare
from cliffwatch_runner.run.modes.calibrated import calibration_lines, keep_calibration

ROW = CalibratedRow(
    suite="local-storage",
    benchmark="seq-get",
    params={"nr_maps": "16"},
    metric="hits-latency",
    unit="ns/op",
    boots=36,
    spread=0.0042,
    difference=0.0011,
    detectable=0.0087,
    suggested_boots=11,
)
WIDE = replace(ROW, benchmark="int-get", suggested_boots=60, layout_floor=0.01)
WIDEST = replace(ROW, benchmark="hash", suggested_boots=None)
UNKNOWN = replace(ROW, benchmark="failed", spread=None, suggested_boots=None)
ANOTHER = replace(ROW, suite="ringbufs", suggested_boots=500)
DOCUMENT = CalibrationDocument(
    format=FORMAT,
    format_version=1,
    cliffwatch_version="0.1.0",
    created="2026-11-21T13:00:00+00:00",
    platform="amd-rome",
    mode="walltime",
    profile="smoke",
    boots=12,
    kernel="6.18.0",
    machine={"microcode": "0x830107c"},
    suites=("local-storage",),
    missing=(),
    false_changes=(),
    passed=True,
    rows=(ROW, WIDE, WIDEST, UNKNOWN, ANOTHER),
)


def planned(cache: Path, *rows: CalibratedRow, microcode: str = "0x830107c", **more: Any) -> Any:
    cases = tuple(SimpleNamespace(key=row.case) for row in rows)
    return SimpleNamespace(
        request=SimpleNamespace(cache=cache, screen_boots=12),
        platform=more.get("platform", "amd-rome"),
        mode="walltime",
        host={"cpu": {"microcode": [microcode]}},
        plan=SimpleNamespace(cases=cases, stages=more.get("stages"), budget=more.get("budget")),
    )


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    keep_calibration(tmp_path, DOCUMENT)
    return tmp_path


def test_it_names_the_cases_that_need_more_boots_than_planned(cache: Path) -> None:
    (line,) = calibration_lines(planned(cache, ROW, WIDE, WIDEST, UNKNOWN))
    assert line == (
        "this host's calibration of 2026-11-21: for a change of 1 %, 2 of 3 calibrated cases would need more"
        " than the 12 boots planned, each in its own layout: over 999 for hash/nr_maps=16,"
        " 60 for int-get/nr_maps=16"
    )
    (line,) = calibration_lines(planned(cache, ROW))
    assert line.endswith("the 12 boots planned show a change of 1 % in every calibrated case")


def test_boots_of_a_staged_plan_are_those_of_its_last_look(cache: Path) -> None:
    stages = SimpleNamespace(looks=(SimpleNamespace(boots=14), SimpleNamespace(boots=60)))
    (line,) = calibration_lines(planned(cache, ROW, WIDE, stages=stages))
    assert "the 60 boots planned show a change of 1 % in every" in line


def test_a_calibration_of_another_machine_or_platform_says_nothing_of_boots(cache: Path) -> None:
    (line,) = calibration_lines(planned(cache, ROW, microcode="0x830107d"))
    assert "is of another microcode: `cliffwatch host calibrate` measures" in line
    assert list(calibration_lines(planned(cache, ROW, platform="intel-skylake"))) == []
    assert list(calibration_lines(planned(cache, UNKNOWN))) == []
    assert list(calibration_lines(planned(cache, ROW, budget=object()))) == []


def test_one_that_did_not_pass_says_so_and_one_that_is_cut_is_ignored(cache: Path) -> None:
    keep_calibration(cache, replace(DOCUMENT, passed=False))
    (line,) = calibration_lines(planned(cache, ROW))
    assert line.startswith("this host's calibration of 2026-11-21, which did not pass: ")
    (file,) = (cache / "calibrations").iterdir()
    file.write_bytes(file.read_bytes()[:100])
    assert list(calibration_lines(planned(cache, ROW))) == []


def test_a_run_says_it_before_it_begins(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = planned(cache, ROW)
    monkeypatch.setattr(prepare, "plan_checked", lambda *_: plan)
    monkeypatch.setattr(prepare, "examine_host", lambda _: ())
    monkeypatch.setattr(prepare, "cost_lines", lambda *_: iter(["walltime: 36 boots"]))
    monkeypatch.setattr(prepare, "explain_too_few_boots", lambda *_: None)
    monkeypatch.setattr(prepare, "replace", lambda made, **_: made)
    said: list[str] = []
    progress: Any = SimpleNamespace(note=said.append)
    prepare.plan_with_progress(plan.request, progress)
    assert said == ["walltime: 36 boots", *calibration_lines(plan)]
