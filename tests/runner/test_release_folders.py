"""The folder of `cliffwatch releases`: damaged runs are measured again, and no other folder is touched."""

import json
import shutil
from collections.abc import Callable
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
    copied: Path, damage: Callable[[Path], object], message: str
) -> None:
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


def put_folder(path: Path) -> None:
    if path.is_file():
        path.unlink()
    path.mkdir()


def put_file(path: Path) -> None:
    shutil.rmtree(path)
    path.touch()


def put_dangling_link(path: Path) -> None:
    shutil.rmtree(path)
    path.symlink_to("nowhere")


@pytest.mark.parametrize(
    ("name", "put"),
    [("report.md", put_folder), ("site", put_file), ("site", put_dangling_link), ("data", put_file)],
)
def test_a_report_that_cannot_be_written_is_refused_with_the_name_that_is_in_the_way(
    copied: Path, name: str, put: Callable[[Path], None]
) -> None:
    put(copied / name)
    done = report_only(copied)

    assert done.exit_code == Exit.USAGE, done.output
    assert f"{copied / name} cannot be written" in done.stderr
    assert "move it away" in said(done)


def test_a_report_that_is_a_link_is_replaced_and_not_followed(copied: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine.md"
    mine.write_text("mine")
    (copied / "report.md").unlink()
    (copied / "report.md").symlink_to(mine)
    (copied / ".report.md.writing").symlink_to(mine)
    done = report_only(copied)

    assert done.exit_code == Exit.DONE, done.output
    assert mine.read_text() == "mine"
    assert (copied / "report.md").read_text().startswith("# BPF from linux")


@pytest.mark.parametrize("seconds", [1e308, -5])
def test_a_record_with_an_impossible_time_is_refused(copied: Path, seconds: float) -> None:
    record = json.loads((copied / "releases.json").read_text())
    record["runs"][0]["seconds"] = seconds
    (copied / "releases.json").write_text(json.dumps(record))
    done = report_only(copied)

    assert done.exit_code == Exit.USAGE, done.output
    assert "releases.json cannot be read" in said(done)


@pytest.mark.parametrize("file", ["index.html", "run.json", "Makefile"])
def test_a_folder_of_something_else_is_refused_and_left_alone(
    audited: tuple[Result, Path], tmp_path: Path, file: str
) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / file).write_text("mine")
    done = go_on(audited, mine)

    assert done.exit_code == Exit.USAGE, done.output
    assert f"{mine} holds no audit but other files, such as {file}" in said(done)
    assert "name a new or an empty folder with --out" in said(done)
    assert [each.name for each in mine.iterdir()] == [file]


def test_an_out_that_cannot_be_a_folder_is_refused(audited: tuple[Result, Path], tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = go_on(audited, tmp_path / "file" / "audit")

    assert done.exit_code == Exit.USAGE, done.output
    assert "results cannot be written to" in said(done)
    assert "name a folder that you can write with --out" in said(done)
