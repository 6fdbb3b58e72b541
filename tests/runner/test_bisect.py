"""`cliffwatch bisect` finds culprits in toy histories, merges among them; git replays its log."""

import json
import os
import re
import signal
import subprocess
import threading
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest
from click.testing import CliRunner, Result
from golden import assert_golden
from isolation_here import ISOLATION, leave_out_root
from toy import RecordedProgress, change, git, request

from cliffwatch.command.main import main
from cliffwatch.samples import MODES, Mode
from cliffwatch.stats.history.culprits.graph import Graph
from cliffwatch.stats.history.culprits.question import SearchResult
from cliffwatch_runner.host.kvm_probe import KvmProbe
from cliffwatch_runner.run import run as running
from cliffwatch_runner.run.bisection import bisecting, pairs
from cliffwatch_runner.run.bisection.commits import History, describe_commit
from cliffwatch_runner.run.bisection.document import BisectionDocument
from cliffwatch_runner.run.bisection.record import BisectionRecord, SkippedCommits
from cliffwatch_runner.run.modes import walltime_host

pytestmark = pytest.mark.usefixtures("stand_in")

CASE = "seq-get/nr_maps=16"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Results come to lie where the command is called. No guest runs under KVM here."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The commits of the runs that were carried out, base and head."""
    carried_out: list[str] = []

    def counting(request, progress, stop, **more):
        carried_out.append(request.arms[1].rev)
        return running.run(request, progress, stop, **more)

    monkeypatch.setattr(pairs, "carry_out", counting)
    return carried_out


def bisect(repository: Path, *words: str, good: str = "v6.12", bad: str = "master") -> Result:
    leave_out_root()
    plain = [
        "bisect",
        "--tree",
        str(repository),
        "--good",
        good,
        "--bad",
        bad,
        "--case",
        CASE,
        "--boots",
        "1",
    ]
    plain += [
        "--isolation",
        ISOLATION,
        "--cache",
        str(Path.cwd() / "cache"),
        "--out",
        str(Path.cwd() / "bisection"),
    ]
    mode = () if "--mode" in words else ("--mode", "icount")
    return CliRunner().invoke(main, [*plain, *mode, *words], catch_exceptions=False)


def found(result: Result) -> dict:
    """The document, checked against its type."""
    assert result.exit_code == 0, result.stderr
    msgspec.json.decode(result.stdout, type=BisectionDocument, strict=True)
    return json.loads(result.stdout)


def culprits(document: Mapping) -> dict[tuple[str, ...], float | None]:
    """The change of the only case, by the commits that made it."""
    return {
        tuple(each["commit"] for each in culprit["commits"]): (*culprit["worse"], *culprit["better"])[0][
            "change"
        ]
        for culprit in document["culprits"]
    }


def latency(repository: Path, value: float, subject: str) -> str:
    return change(repository, "behaviour", f"latency {value:.3f}\n", subject)


def notes(repository: Path, count: int, about: str) -> None:
    for number in range(count):
        change(repository, "README", f"{about} {number}\n", f"docs: Say {about} {number}")


def merge(repository: Path, side: str, value: float, subject: str) -> str:
    """Merges a side into the branch that is checked out; what the two make together is said."""
    git(repository, "merge", "--quiet", "--no-commit", "--no-ff", "--strategy=ours", side)
    for path in git(repository, "ls-tree", "-r", "--name-only", side).split():
        if path.startswith("side"):
            git(repository, "checkout", "--quiet", side, "--", path)
    return latency(repository, value, subject)


@pytest.fixture
def two_sides(repository: Path) -> dict[str, str]:
    """A merge with 3 % slower on one side and 2 % faster on the other."""
    git(repository, "checkout", "--quiet", "-b", "side", "v6.12")
    change(repository, "side-1", "1\n", "net: Say 1 beside")
    slower = latency(repository, 206, "net: Make it slower")
    change(repository, "side-2", "2\n", "net: Say 2 beside")
    git(repository, "checkout", "--quiet", "master")
    notes(repository, 2, "before")
    faster = latency(repository, 196, "bpf: Make it faster")
    notes(repository, 1, "between")
    merged = merge(repository, "side", 202, "Merge side")
    notes(repository, 2, "after")
    return {"slower": slower, "faster": faster, "merge": merged}


def test_the_culprit_is_found_past_one_that_does_not_build(
    repository: Path, here: Path, runs: list[str]
) -> None:
    notes(repository, 3, "before")
    change(
        repository,
        "kernel/bpf/core.c",
        "int bpf_prog_run(void) { return nothing; }\n",
        "bpf: Break the build",
    )
    git(repository, "checkout", "--quiet", "v6.12", "--", "kernel/bpf/core.c")
    git(repository, "commit", "--quiet", "--message", "bpf: Build again")
    culprit = latency(repository, 206, "bpf: Make it slower")
    notes(repository, 3, "after")

    document = found(bisect(repository, "--format", "json"))

    assert culprits(document) == {(culprit,): pytest.approx(0.03)}
    assert document["culprits"][0]["commits"][0]["subject"] == "bpf: Make it slower"
    assert document["culprits"][0]["commits"][0]["author"] == "Test <test@localhost>"
    assert len(runs) == len(set(runs)) <= 6
    assert git(repository, "status", "--porcelain") == ""
    assert git(repository, "rev-parse", "HEAD") == git(repository, "rev-parse", "master")


def test_skips_around_the_culprit_leave_several(repository: Path, here: Path) -> None:
    notes(repository, 2, "before")
    (repository / "kernel/bpf/core.c").write_text("int bpf_prog_run(void) { return nothing; }\n")
    broken = [latency(repository, 206, "bpf: Make it slower, and break the build")]
    broken.append(change(repository, "README", "broken\n", "docs: Say nothing of it"))
    git(repository, "checkout", "--quiet", "v6.12", "--", "kernel/bpf/core.c")
    git(repository, "commit", "--quiet", "--message", "bpf: Build again")
    broken.append(git(repository, "rev-parse", "HEAD"))
    notes(repository, 2, "after")

    document = found(bisect(repository, "--format", "json"))
    text = bisect(repository).stdout
    log = (here / "bisection/bisect.log").read_text()

    assert culprits(document) == {tuple(broken): pytest.approx(0.03)}
    assert {each["commit"] for each in document["skipped"]} == set(broken[:2])
    assert "one of these 3 commits; none between them can be measured" in text
    assert "does not build" in text
    assert replayed(repository, here) == set(broken)
    assert log.count("git bisect skip ") == 2


def replayed(repository: Path, here: Path, culprit_only: bool = False) -> set[str]:
    """What real git says of the log, in a clone: the first bad commit, or those that it may be."""
    clone = here / "clone"
    if not clone.exists():
        subprocess.run(["git", "clone", "--quiet", str(repository), str(clone)], check=True)
    log = str(here / "bisection/bisect.log")
    ended = subprocess.run(
        ["git", "-C", str(clone), "bisect", "replay", log], check=False, capture_output=True, text=True
    )
    one = re.search(r"([0-9a-f]{40}) is the first (?:new|bad) commit", ended.stdout)
    if one:
        return {one[1]}
    assert "only 'skip'ped commits left" in ended.stdout, ended.stdout + ended.stderr
    return set(re.findall(r"(?m)^([0-9a-f]{40})$", ended.stdout))


def test_of_a_merge_with_slower_on_one_side_and_faster_on_the_other_both_are_found(
    repository: Path, here: Path, two_sides: Mapping[str, str], runs: list[str]
) -> None:
    document = found(bisect(repository, "--format", "json"))

    assert culprits(document) == {
        (two_sides["slower"],): pytest.approx(0.03),
        (two_sides["faster"],): pytest.approx(-0.02),
    }
    assert [len(each["worse"]) for each in document["culprits"]] == [1, 0]
    assert [len(each["better"]) for each in document["culprits"]] == [0, 1]
    assert len(runs) == len(set(runs))
    assert replayed(repository, here) == {two_sides["slower"]}


def test_the_report_is_aligned(repository: Path, here: Path, two_sides: Mapping[str, str]) -> None:
    text = bisect(repository).stdout.replace(str(here), "…")
    commits = dict.fromkeys(re.findall(r"\b[0-9a-f]{12}\b", text))
    for number, commit in enumerate(commits, start=1):
        text = text.replace(commit, f"{number:012}")

    assert_golden("bisect.txt", re.sub(r"\d{4}-\d\d-\d\d", "2026-01-01", text))


def test_a_change_that_only_the_merge_makes_is_named(repository: Path, here: Path) -> None:
    git(repository, "checkout", "--quiet", "-b", "side", "v6.12")
    change(repository, "side-1", "1\n", "net: Say 1 beside")
    git(repository, "checkout", "--quiet", "master")
    notes(repository, 1, "before")
    merged = merge(repository, "side", 206, "Merge side, slower than both")
    notes(repository, 1, "after")

    document = found(bisect(repository, "--format", "json"))

    assert culprits(document) == {(merged,): pytest.approx(0.03)}
    assert replayed(repository, here) == {merged}


def test_ends_that_do_not_differ_stop_it_with_what_was_detectable(
    repository: Path, here: Path, runs: list[str]
) -> None:
    notes(repository, 5, "nothing")

    ended = bisect(repository)

    assert ended.exit_code == 0
    assert "no regression of any case, so there is nothing to bisect" in ended.stdout
    assert re.search(r"seq-get/nr_maps=16 +insns/op +icount +[-+]?0.00 % +0.20 % +unchanged", ended.stdout)
    assert runs == [git(repository, "rev-parse", "master")]
    assert found(bisect(repository, "--format", "json"))["outcome"] == "not-shown"


def test_an_improvement_is_looked_for_as_well(repository: Path, here: Path) -> None:
    notes(repository, 2, "before")
    faster = latency(repository, 196, "bpf: Make it faster")
    notes(repository, 2, "after")

    document = found(bisect(repository, "--change", "improvement", "--format", "json"))

    assert culprits(document) == {(faster,): pytest.approx(-0.02)}
    assert replayed(repository, here) == {faster}


def test_a_threshold_decides_what_is_bad(repository: Path, here: Path) -> None:
    latency(repository, 201, "bpf: Make it a little slower")
    slower = latency(repository, 209, "bpf: Make it slower")
    notes(repository, 1, "after")

    assert culprits(found(bisect(repository, "--threshold", "2", "--format", "json"))) == {
        (slower,): pytest.approx(8 / 201, abs=1e-5)
    }


def test_interrupted_it_goes_on_without_measuring_again(
    repository: Path, here: Path, runs: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    notes(repository, 5, "before")
    culprit = latency(repository, 206, "bpf: Make it slower")
    notes(repository, 6, "after")
    counting = vars(pairs)["carry_out"]

    def interrupted_in_the_third(request, progress, stop, **more):
        if len(runs) == 2:
            os.kill(os.getpid(), signal.SIGINT)
        return counting(request, progress, stop, **more)

    monkeypatch.setattr(pairs, "carry_out", interrupted_in_the_third)
    first = bisect(repository)
    monkeypatch.setattr(pairs, "carry_out", counting)
    done = runs[:2]
    log = (here / "bisection/bisect.log").read_text()
    second = bisect(repository, "--format", "json")

    assert first.exit_code == 130
    assert "Run the same command to resume" in first.stderr
    assert log.count("git bisect good ") + log.count("git bisect bad ") == 3
    assert culprits(found(second)) == {(culprit,): pytest.approx(0.03)}
    assert not set(done) & set(runs[3:])
    assert bisect(repository, "--format", "json").stdout == second.stdout


def test_what_ended_is_not_measured_again_nor_built(repository: Path, here: Path, runs: list[str]) -> None:
    notes(repository, 1, "before")
    change(
        repository,
        "kernel/bpf/core.c",
        "int bpf_prog_run(void) { return nothing; }\n",
        "bpf: Break the build",
    )
    git(repository, "checkout", "--quiet", "v6.12", "--", "kernel/bpf/core.c")
    git(repository, "commit", "--quiet", "--message", "bpf: Build again")
    latency(repository, 206, "bpf: Make it slower")

    first = bisect(repository).stdout
    done = len(runs)

    assert bisect(repository).stdout == first
    assert len(runs) == done
    assert "does not build" in first
    assert len(list((here / "bisection/runs").iterdir())) == done - 1, (
        "a commit that does not build boots nothing"
    )


def test_cases_have_culprits_of_their_own(repository: Path, here: Path) -> None:
    """`slow` moves all cases but the control; then all are slower."""
    notes(repository, 1, "before")
    first = change(repository, "behaviour", "slow\n", "bpf: Make storage slow")
    notes(repository, 1, "between")
    second = change(repository, "behaviour", "latency 250.000\n", "bpf: Make hash maps slow as well")

    document = found(
        bisect(repository, "--case", "hashmap-control/hashmap_nr_keys_used=10", "--format", "json")
    )

    rows = {
        each["commits"][0]["commit"]: {row["benchmark"] for row in each["worse"]}
        for each in document["culprits"]
    }
    assert rows == {first: {"local-storage-cache-seq-get"}, second: {"local-storage-cache-hashmap-control"}}


@pytest.mark.parametrize(
    ("good", "bad", "said"),
    [
        ("v6.12", "v6.12", "are the same commit"),
        ("master", "v6.12", "is not in the history of v6.12"),
        ("v9.99", "master", "has no revision 'v9.99'"),
    ],
)
def test_ends_that_cannot_be_bisected(repository: Path, here: Path, good: str, bad: str, said: str) -> None:
    notes(repository, 1, "nothing")
    ended = bisect(repository, good=good, bad=bad)

    assert ended.exit_code == 2
    assert said in ended.stderr


def test_a_bad_end_that_does_not_build_is_the_kernels_failure(repository: Path, here: Path) -> None:
    change(
        repository,
        "kernel/bpf/core.c",
        "int bpf_prog_run(void) { return nothing; }\n",
        "bpf: Break the build",
    )
    ended = bisect(repository)

    assert ended.exit_code == 3
    assert "name good and bad commits that build, boot and run the case" in ended.stderr


def test_an_unknown_case_and_a_folder_of_another_bisection_are_wrong_usage(
    repository: Path, here: Path
) -> None:
    latency(repository, 206, "bpf: Make it slower")
    assert bisect(repository).exit_code == 0

    other = bisect(repository, "--threshold", "1")
    unknown = bisect(repository, "--suite", "no-such", "--out", str(here / "other"))

    assert (other.exit_code, unknown.exit_code) == (2, 2)
    assert "belongs to another bisection" in other.stderr
    assert "there is no suite 'no-such'" in unknown.stderr


@pytest.mark.parametrize(
    ("modes", "shown_in", "tried"),
    [(("icount",), None, ["icount"]), (MODES, None, ["icount", "walltime"]), (MODES, "icount", ["icount"])],
    ids=["the default", "both", "both, shown in icount"],
)
def test_walltime_is_for_what_icount_does_not_show_where_both_are_asked_for(
    repository: Path,
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
    modes: tuple[Mode, ...],
    shown_in: Mode | None,
    tried: list[Mode],
) -> None:
    done: list[Mode] = []

    def bisection(_: object, runs: pairs.PairRuns, mode: Mode) -> SimpleNamespace:
        done.append(mode)
        assert runs.request.mode == mode
        found = SearchResult(rows=(), steps=(), marks=()) if mode == shown_in else None
        return SimpleNamespace(carried_out=lambda: bisecting.Bisected(mode=mode, ends=(), found=found))

    monkeypatch.setattr(bisecting, "_Bisection", bisection)
    monkeypatch.setattr(bisecting, "examine_host", lambda _: ())
    history = History(graph=Graph({"good": ()}), good="good", bad="bad", between=())
    order = bisecting.Order(
        request=request(repository, here),
        modes=modes,
        history=history,
        sought="regression",
        record=BisectionRecord(here, SkippedCommits(format="", version=1, question="", skipped={})),
        report_step=lambda *_: None,
        report_marks=lambda _: None,
    )
    ended = bisecting.bisect(order, RecordedProgress(), threading.Event())

    assert isinstance(ended, bisecting.Bisected)
    assert done == tried
    assert list(ended.tried) == ([] if shown_in else tried)


def test_both_modes_are_refused_where_kvm_runs_no_guest(
    repository: Path, here: Path, monkeypatch: pytest.MonkeyPatch, runs: list[str]
) -> None:
    monkeypatch.setattr(
        walltime_host,
        "gather_facts",
        lambda _: SimpleNamespace(kvm=KvmProbe(usable=False, reason="none"), leftover=None),
    )
    latency(repository, 206, "bpf: Make it slower")
    ended = bisect(repository, "--mode", "both")

    assert ended.exit_code == 4
    assert "walltime needs KVM" in ended.stderr
    assert runs == []


def test_a_repository_has_no_say_in_what_is_run_when_its_commits_are_described(
    repository: Path, tmp_path: Path
) -> None:
    """A signed commit, and settings by which git would check it with a program of the repository's."""
    ran = tmp_path / "ran"
    program = repository / "gpg"
    program.write_text(f"#!/bin/sh\ntouch {ran}\n")
    program.chmod(0o755)
    git(repository, "config", "log.showSignature", "true")
    git(repository, "config", "gpg.program", str(program))
    head, _, message = git(repository, "cat-file", "commit", "HEAD").partition("\n\n")
    signature = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n abc\n -----END PGP SIGNATURE-----"
    (tmp_path / "commit").write_text(f"{head}\n{signature}\n\n{message}\n")
    signed = git(repository, "hash-object", "-t", "commit", "-w", str(tmp_path / "commit"))

    facts = describe_commit(repository, signed)

    assert facts.subject == "Linux 6.12"
    assert "kernel/bpf/core.c" in facts.paths
    assert not ran.exists()
    git(repository, "show", "-s", signed)
    assert ran.exists()
