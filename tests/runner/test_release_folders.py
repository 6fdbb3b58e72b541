"""The folder of `cliffwatch releases`: damaged runs are measured again, and no other folder is touched."""

import hashlib
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from isolation_here import ISOLATION, leave_out_root
from toy import change, git, toy_repository
from toy_audit import audit, report_only

from cliffwatch.catalogue.load import load_catalogue
from cliffwatch.failure import Exit, Failure
from cliffwatch_runner.command.releases.opening import choose_suites
from cliffwatch_runner.command.releases.releases import releases
from cliffwatch_runner.command.releases.trees import open_releases

pytestmark = pytest.mark.usefixtures("stand_in")


@pytest.fixture
def copied(audited: tuple[Result, Path], tmp_path: Path) -> Path:
    """A copy of the audit of the three releases."""
    out = tmp_path / "out"
    shutil.copytree(audited[1], out)
    return out


def go_on(
    audited: tuple[Result, Path],
    out: Path,
    *words: str,
    tags: tuple[str, ...] = ("v6.12", "v6.13", "v6.14"),
) -> Result:
    """Runs the command of the audit again, on a copy of its folder."""
    home = audited[1].parent
    return audit(home / "linux", home, "--out", str(out), *words, tags=tags)


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
        (lose_boot, "runs/local-storage has 2 of 3 planned boots"),
        (lose_boots, "runs/local-storage has 0 of 3 planned boots"),
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


def with_record(out: Path, **changed: object) -> Path:
    """Changes the record of an audit."""
    record = json.loads((out / "releases.json").read_text())
    (out / "releases.json").write_text(json.dumps(record | changed))
    return out


def record_of(out: Path) -> Any:
    return json.loads((out / "releases.json").read_text())


def test_an_audit_goes_on_with_its_recorded_revisions_wherever_its_trees_are_now(
    audited: tuple[Result, Path], copied: Path, tmp_path: Path
) -> None:
    moved = [each | {"tree": "moved-away"} for each in record_of(copied)["releases"]]
    with_record(copied, releases=moved)
    done = go_on(audited, copied, tags=())

    assert done.exit_code == Exit.DONE, done.output
    assert record_of(copied)["releases"] == moved


def test_out_alone_goes_on_with_the_profile_and_the_suites_of_the_audit(
    audited: tuple[Result, Path], copied: Path
) -> None:
    leave_out_root()
    with_record(copied, profile="standard")
    where = ("--out", str(copied), "--cache", str(audited[1].parent / "cache"), "--isolation", ISOLATION)
    done = CliRunner().invoke(releases, where)

    assert done.exit_code == Exit.DONE, done.output
    record = record_of(copied)
    assert (record["profile"], record["suites"]) == ("standard", ["local-storage"])
    other = CliRunner().invoke(releases, [*where, "--profile", "full"])
    assert "--profile: full now, standard before" in said(other)


def test_an_audit_whose_revisions_are_lost_asks_for_its_trees(
    audited: tuple[Result, Path], copied: Path
) -> None:
    with_record(copied, releases=[each | {"tree": "moved-away"} for each in record_of(copied)["releases"]])
    shutil.rmtree(copied / "trees.git")
    done = go_on(audited, copied, tags=())

    assert done.exit_code == Exit.USAGE, done.output
    assert "the cache has lost revision" in said(done)
    assert "there is no tree 'moved-away'" in said(done)
    assert "name all trees of the audit again with --tree" in said(done)


def test_revisions_that_the_cache_has_lost_are_fetched_from_their_trees(
    audited: tuple[Result, Path], copied: Path
) -> None:
    shutil.rmtree(copied / "trees.git")
    done = go_on(audited, copied, tags=())

    assert done.exit_code == Exit.DONE, done.output
    assert (copied / "trees.git").is_dir()


@pytest.mark.parametrize(
    ("words", "said_of_them"),
    [
        (("--cpus", "2"), "--cpus: 2 now, not given before"),
        (("--profile", "standard"), "--profile: standard now, smoke before"),
        (("--case", "seq-get", "--case", "int-get"), "--case: seq-get and int-get now, not given before"),
        (("--bench-from", "6.13"), "--bench-from: 6.13 now, not given before"),
    ],
)
def test_another_option_than_the_audits_is_named(
    audited: tuple[Result, Path], copied: Path, words: tuple[str, ...], said_of_them: str
) -> None:
    done = go_on(audited, copied, *words)

    assert done.exit_code == Exit.USAGE, done.output
    assert f"holds an audit with other options: {said_of_them}" in said(done)
    assert "give its options again to go on with it, or name another folder with --out" in said(done)


@pytest.mark.parametrize("words", [("--cpus", "1"), ("--bench-from", "6.14"), ("--cc", "gcc")])
def test_an_option_that_asks_for_its_default_is_no_other_audit(
    audited: tuple[Result, Path], copied: Path, words: tuple[str, ...]
) -> None:
    assert go_on(audited, copied, *words).exit_code == Exit.DONE


def test_other_releases_than_the_audits_are_named(audited: tuple[Result, Path], copied: Path) -> None:
    done = go_on(audited, copied, tags=("v6.12", "v6.13"))

    assert done.exit_code == Exit.USAGE, done.output
    assert "--tree: 6.12 and 6.13 now, 6.12, 6.13 and 6.14 before" in said(done)
    assert "without --tree to keep its revisions" in said(done)


def test_a_changed_fragment_of_the_configuration_is_another_audit(
    audited: tuple[Result, Path], copied: Path, tmp_path: Path
) -> None:
    fragment = tmp_path / "more.config"
    fragment.write_text("CONFIG_BPF=y\n")
    known = {"name": "more.config", "sha256": hashlib.sha256(b"CONFIG_BPF=y\n").hexdigest()}
    with_record(copied, settings=record_of(copied)["settings"] | {"config": [known]})
    same = go_on(audited, copied, "--config", str(fragment))
    fragment.write_text("CONFIG_BPF=n\n")
    other = go_on(audited, copied, "--config", str(fragment))

    assert same.exit_code == Exit.DONE, same.output
    assert other.exit_code == Exit.USAGE, other.output
    assert "--config: more.config has other content than before" in said(other)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--tree", ""), "--tree is empty"),
        (("--suite", ""), "there is no suite ''"),
        (("--suite", "local-storag"), "there is no suite 'local-storag'; did you mean 'local-storage'?"),
        (("--cc", "nosuchcc"), "--cc: there is no program 'nosuchcc' here"),
        (("--case", "nosuchcase"), "--case: no case of the plan matches 'nosuchcase'"),
    ],
)
def test_a_wrong_option_is_refused_before_the_audit_begins(
    audited: tuple[Result, Path], tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    out = tmp_path / "new"
    done = go_on(audited, out, *words)

    assert done.exit_code == Exit.USAGE, done.output
    assert message in said(done)
    assert not (out / "releases.json").exists()


def test_an_image_that_is_missing_is_refused_before_the_audit_begins(
    audited: tuple[Result, Path], tmp_path: Path
) -> None:
    out = tmp_path / "new"
    done = go_on(audited, out, "--build-image", "localhost/nothing:none")

    assert done.exit_code == Exit.HOST_FAILED, done.output
    assert "is missing in the image localhost/nothing:none" in said(done)
    assert not out.exists()


def test_options_of_an_audit_that_measured_nothing_may_change(
    audited: tuple[Result, Path], copied: Path
) -> None:
    with_record(copied, runs=[], profile="full")
    shutil.rmtree(copied / "runs")
    done = go_on(audited, copied)

    assert done.exit_code == Exit.DONE, done.output
    assert record_of(copied)["profile"] == "smoke"


def test_all_beside_other_suites_means_all() -> None:
    names = tuple(suite.name for suite in load_catalogue().suites)

    assert choose_suites(("all", "bloom")) == names
    assert choose_suites(("bloom",)) == ("bloom",)


@pytest.mark.parametrize("extra", ["-x<b>", "/../..", ".lock", "~1^2", "\x1b[31m"])
def test_a_version_that_is_no_name_of_a_branch_is_made_one(
    audited: tuple[Result, Path], tmp_path: Path, extra: str
) -> None:
    repository = toy_repository(tmp_path)
    makefile = (repository / "Makefile").read_text()
    for number in (1, 2):
        text = re.sub(r"(?m)^SUBLEVEL = .*$", f"SUBLEVEL = {number}", makefile)
        change(repository, "Makefile", f"{text}\nEXTRAVERSION = {extra}\n", f"Linux {number}")
        git(repository, "tag", f"odd{number}")
    specs = [f"{repository}@odd{number}" for number in (1, 2)]
    found = open_releases(specs, tmp_path / "cache", tmp_path / "out")

    assert not isinstance(found, Failure), found
    assert all(re.fullmatch(r"6\.12\.[12][A-Za-z0-9._-]*", each.name) for each in found)
    heads = git(tmp_path / "out" / "trees.git", "for-each-ref", "--format=%(refname:short)", "refs/heads")
    assert heads.split() == sorted(each.name for each in found)


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({"profile": "nope"}, "Invalid enum value 'nope'"),
        ({"suites": ["local-storage", "index"]}, "no suite can be called index"),
        ({"suites": ["bloom"]}, "local-storage is no suite of the audit"),
    ],
)
def test_a_record_that_contradicts_itself_is_refused(
    copied: Path, changed: dict[str, object], fault: str
) -> None:
    done = report_only(with_record(copied, **changed))

    assert done.exit_code == Exit.USAGE, done.output
    assert fault in said(done)


def test_a_record_with_releases_or_runs_twice_or_in_another_order_is_refused(copied: Path) -> None:
    record = record_of(copied)
    releases, runs = record["releases"], record["runs"]

    backwards = report_only(with_record(copied, releases=releases[::-1]))
    twice = report_only(with_record(copied, releases=[releases[0], *releases[:2]]))
    again = report_only(with_record(copied, releases=releases, runs=[*runs, runs[0]]))

    assert backwards.exit_code == twice.exit_code == again.exit_code == Exit.USAGE
    assert "the releases are not in order of version" in said(backwards)
    assert "the name of a release is there twice" in said(twice)
    assert "the folder of a run is there twice" in said(again)


def test_the_report_names_the_tools_of_all_runs(copied: Path) -> None:
    record = record_of(copied)
    again = record["runs"][0] | {"folder": "runs/local-storage.6.14", "bench": "6.14", "own": True}
    shutil.copytree(copied / "runs" / "local-storage", copied / again["folder"])
    path = copied / again["folder"] / "run.json"
    run = json.loads(path.read_text())
    tools = run["toolchain"]
    path.write_text(json.dumps(run | {"toolchain": tools | {"gcc": "gcc (elsewhere) 99.1"}}))
    report_only(with_record(copied, runs=[*record["runs"], again]))

    line = next(line for line in (copied / "report.md").read_text().splitlines() if "profile smoke" in line)
    for tool in (tools["gcc"], "gcc (elsewhere) 99.1", tools["bpf-clang"], f"pahole {tools['pahole']}"):
        assert tool in line
