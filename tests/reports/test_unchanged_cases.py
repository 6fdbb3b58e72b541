"""Cases that need not be measured have the verdict "unchanged build", with the reason, in every report of
their run.
"""

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from cliffwatch.command.main import main

REASON = "it executes none of the 30 functions that differ between a11 and b22"


@pytest.fixture
def run(data: Path, tmp_path: Path) -> Path:
    """A run whose last case was left out."""
    folder = tmp_path / "run"
    shutil.copytree(data / "runs/uninlined", folder)
    record = json.loads((folder / "run.json").read_text())
    left = {
        "suite": "local-storage",
        "benchmark": "local-storage-cache-int-get",
        "params": {"nr_maps": "1000"},
        "status": "unchanged-build",
        "reason": REASON,
    }
    (folder / "run.json").write_text(json.dumps({**record, "left_out": [left]}))
    return folder


def report(run: Path, form: str) -> str:
    ended = CliRunner().invoke(main, ["compare", str(run), "--format", form])
    assert ended.exit_code == 0, ended.output
    return ended.output


@pytest.mark.parametrize("form", ["text", "markdown", "html"])
def test_the_sentence_counts_them(run: Path, form: str) -> None:
    assert "5 slower (up to 5.2 % more instructions), 2 unchanged, 1 unchanged build" in report(run, form)


def test_the_reason_stands_beside_the_case(run: Path) -> None:
    assert f"local-storage-cache-int-get/nr_maps=1000: unchanged build: {REASON}" in report(run, "text")


def test_documents_have_them(run: Path) -> None:
    (left,) = json.loads(report(run, "json"))["left_out"]
    assert (left["status"], left["reason"]) == ("unchanged-build", REASON)


def test_a_case_that_one_side_measured_is_missing_for_this_reason(run: Path) -> None:
    """Compared with another run's arm: what that measured has no other side here."""
    record = json.loads((run / "run.json").read_text())
    record["left_out"][0]["params"] = {"nr_maps": "16"}
    (run / "run.json").write_text(json.dumps(record))
    for boot in run.glob("boots/*-head"):
        samples = json.loads((boot / "samples.json").read_text())
        for part in ("samples", "outcomes"):
            samples[part] = [
                each
                for each in samples[part]
                if (each["benchmark"], each["params"]) != ("local-storage-cache-int-get", {"nr_maps": "16"})
            ]
        (boot / "samples.json").write_text(json.dumps(samples))

    rows = json.loads(report(run, "json"))["comparisons"]

    (row,) = [row for row in rows if row["primary"] and row["verdict"] == "missing"]
    assert row["reason"] == f"head: {REASON}"
