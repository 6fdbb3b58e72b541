"""The folder of `cliffwatch releases`: damaged runs are measured again, and no other folder is touched."""

import json
import shutil
from pathlib import Path

import pytest
from click.testing import Result
from toy_audit import audit, report_only

from cliffwatch.failure import Exit

pytestmark = pytest.mark.usefixtures("stand_in")


@pytest.fixture
def copied(audited: tuple[Result, Path], tmp_path: Path) -> Path:
    """A copy of the audit of the three releases."""
    out = tmp_path / "out"
    shutil.copytree(audited[1], out)
    return out


def go_on(audited: tuple[Result, Path], out: Path, *words: str) -> Result:
    """Runs the command of the audit again, on a copy of its folder."""
    home = audited[1].parent
    return audit(home / "linux", home, "--out", str(out), *words)


def said(result: Result) -> str:
    """What the command said, its lines joined."""
    return " ".join(result.stderr.split())


def damage_record(run: Path) -> None:
    (run / "run.json").write_text("{")


def lose_boot(run: Path) -> None:
    shutil.rmtree(min((run / "boots").iterdir()))


def lose_boots(run: Path) -> None:
    shutil.rmtree(run / "boots")


def put_other_suite(run: Path) -> None:
    record = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps(record | {"suites": ["harness"]}))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (shutil.rmtree, "there is no run.json"),
        (damage_record, "run.json cannot be read"),
        (lose_boot, "runs/local-storage has 2 of the 3 boots that it planned"),
        (lose_boots, "runs/local-storage has 0 of the 3 boots that it planned"),
        (put_other_suite, "runs/local-storage is a run of harness, not of local-storage"),
    ],
)
def test_a_report_of_a_damaged_run_is_refused_and_stays_as_it_was(
    copied: Path, damage: object, message: str
) -> None:
    assert callable(damage)
    damage(copied / "runs" / "local-storage")
    before = (copied / "report.md").read_bytes()
    done = report_only(copied)

    assert done.exit_code == Exit.USAGE, done.output
    assert message in said(done)
    assert "run the command without --report-only, which measures it again" in said(done)
    assert (copied / "report.md").read_bytes() == before


def test_a_damaged_run_is_measured_again(audited: tuple[Result, Path], copied: Path) -> None:
    before = (copied / "report.md").read_text()
    lose_boot(copied / "runs" / "local-storage")
    done = go_on(audited, copied)

    assert done.exit_code == Exit.DONE, done.output
    assert "local-storage is measured again: " in said(done)
    assert suite_of(copied / "report.md") == suite_of_text(before)
    assert (copied / "runs" / "local-storage.interrupted-1").is_dir(), "its other boots are kept"


def suite_of(report: Path) -> str:
    return suite_of_text(report.read_text())


def suite_of_text(report: str) -> str:
    """The table of the suite."""
    return report.partition("## local-storage")[2]


def test_a_copy_without_its_runs_is_left_alone(audited: tuple[Result, Path], copied: Path) -> None:
    shutil.rmtree(copied / "runs")
    before = (copied / "report.md").read_bytes()
    done = go_on(audited, copied)

    assert done.exit_code == Exit.USAGE, done.output
    assert "has the report of an audit without its runs" in said(done)
    assert (copied / "report.md").read_bytes() == before


def test_a_record_of_code_that_cannot_be_read_is_told(copied: Path) -> None:
    (copied / "runs" / "local-storage" / "code.json").write_text("{")
    done = report_only(copied)

    assert done.exit_code == Exit.DONE, done.output
    assert "- runs/local-storage/code.json cannot be read" in (copied / "report.md").read_text()


def test_pages_and_tables_of_suites_that_the_audit_no_longer_has_are_removed(copied: Path) -> None:
    page = (copied / "site" / "local-storage.html").read_text()
    (copied / "site" / "sockmap.html").write_text(page)
    (copied / "site" / "about.html").write_text("<p>A page of somebody else.")
    for name in ("sockmap.parquet", "sockmap.6.12.csv", "mine.csv"):
        (copied / "data" / name).touch()
    report_only(copied)

    assert sorted(each.name for each in (copied / "site").iterdir()) == [
        "about.html",
        "index.html",
        "local-storage.html",
    ]
    tables = {each.name for each in (copied / "data").iterdir()}
    assert "mine.csv" in tables
    assert not {name for name in tables if name.startswith("sockmap")}


def test_a_case_without_a_value_in_any_release_is_in_the_report_and_on_its_page(copied: Path) -> None:
    reason = "not finished after 30 s of guest time"
    for path in (copied / "runs" / "local-storage" / "boots").glob("*/samples.json"):
        measured = json.loads(path.read_text())
        slow = "local-storage-cache-seq-get"
        measured["samples"] = [each for each in measured["samples"] if each["benchmark"] != slow]
        for outcome in measured["outcomes"]:
            if outcome["benchmark"] == slow:
                outcome |= {"status": "failed", "reason": reason}
        path.write_text(json.dumps(measured))
    report_only(copied)

    line = f"no release: 3 cases, such as local-storage-cache-seq-get/nr_maps=1: {reason}"
    assert f"- {line}\n" in (copied / "report.md").read_text()
    assert f"<li>{line}</li>" in (copied / "site" / "local-storage.html").read_text()
