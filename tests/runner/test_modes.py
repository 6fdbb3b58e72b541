"""Modes of measuring: which one is the default, what walltime says of its host, and what both of them
measure.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result
from isolation_here import ISOLATION, leave_out_root
from toy import change

from cliffwatch.command.main import main
from cliffwatch.formats.result_directory import Run, read_run
from cliffwatch_runner.command.bisection.bisect import bisect
from cliffwatch_runner.command.bisection.bisect_run import bisect_run
from cliffwatch_runner.command.doctor import doctor
from cliffwatch_runner.command.run import run as run_command
from cliffwatch_runner.command.workflow.watch import watch
from cliffwatch_runner.doctor.check import Check
from cliffwatch_runner.guest import argv
from cliffwatch_runner.host.journal import Journal
from cliffwatch_runner.host.kvm_probe import KvmProbe
from cliffwatch_runner.run import run as running
from cliffwatch_runner.run.modes import walltime_host
from cliffwatch_runner.run.modes.both import answered_by

pytestmark = pytest.mark.usefixtures("stand_in")

SMT = Check(
    name="smt",
    group="walltime",
    status="fail",
    finding="on",
    why="A sibling thread takes caches.",
    fixes=("x",),
)
SWAP = Check(
    name="swap", group="walltime", status="warn", finding="8.0 GiB", why="A guest may wait.", fixes=("x",)
)
KVM = KvmProbe(usable=True, reason="a probe guest ran in 0.1 s")


def host_with(
    monkeypatch: pytest.MonkeyPatch, *amiss: Check, kvm: KvmProbe = KVM, leftover: Journal | None = None
) -> None:
    """A host on which the stand-in guest runs in walltime, and with which this is amiss. Nothing of this
    machine is tuned, nor is it taken from runs of other tests.
    """

    @contextmanager
    def untuned(*_: object, **__: object) -> Iterator[SimpleNamespace]:
        yield SimpleNamespace(facts=dict)

    monkeypatch.setattr(walltime_host, "gather_facts", lambda _: SimpleNamespace(kvm=kvm, leftover=leftover))
    monkeypatch.setattr(walltime_host, "walltime_checks", lambda _: iter(amiss))
    monkeypatch.setattr(running, "tune_as_allowed", untuned)
    monkeypatch.setattr(running, "host_lock", lambda *_, **__: nullcontext())
    monkeypatch.setattr(argv, "KVM", Path("/dev/null"))


def run(repository: Path, *words: object, out: bool = True) -> Result:
    leave_out_root()
    folders = ["--cache", repository.parent / "cache", "--isolation", ISOLATION]
    folders += ["--out", repository.parent / "results"] if out else []
    plain = [
        "run",
        "--tree",
        repository,
        "--base",
        "v6.12",
        "--head",
        "HEAD",
        "--boots",
        1,
        *folders,
        "--suite",
        "local-storage",
    ]
    return CliRunner().invoke(main, [str(word) for word in (*plain, *words)], catch_exceptions=False)


def measured(folder: Path) -> Run:
    found = read_run(folder)
    assert isinstance(found, Run), found
    return found


@pytest.mark.parametrize(
    "command", [run_command, bisect, bisect_run, watch, doctor], ids=lambda each: each.name
)
def test_without_a_mode_it_is_icount(command: click.Command) -> None:
    mode: Any = next(each for each in command.params if each.name == "mode")

    assert mode.default == "icount"
    assert mode.show_default


def test_where_kvm_runs_a_guest_the_default_is_icount_and_nobody_looks(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host_with(monkeypatch, SMT)
    monkeypatch.setattr(walltime_host, "gather_facts", lambda _: pytest.fail("the host was examined"))
    planned = run(repository, "--dry-run")

    assert planned.exit_code == 0
    assert "icount on emulated-x86-64" in planned.stdout


def test_walltime_without_kvm_is_refused_before_anything_is_built(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host_with(monkeypatch, kvm=KvmProbe(usable=False, reason="No such file or directory"))
    for mode in ("walltime", "both"):
        ended = run(repository, "--mode", mode)

        assert ended.exit_code == 4
        assert "walltime needs KVM, and KVM does not run a guest here" in ended.stderr
        assert "No such file or directory" in ended.stderr
        assert not (repository.parent / "cache/kernels").exists()


FIRST = "Measured on a host that is no bench host (smt: on)"


def test_a_host_that_is_no_bench_host_is_said_before_it_begins_and_in_every_report(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host_with(monkeypatch, SMT, SWAP)
    ended = run(repository, "--mode", "walltime")
    before = ended.stderr[: ended.stderr.index("build base")]

    assert ended.exit_code == 0
    assert "not a bench host, and the report will say so" in before
    assert "smt: on. A sibling thread takes caches." in before
    assert "swap: 8.0 GiB. A guest may wait." in before
    assert "walltime: 3 boots; " in before
    assert "`cliffwatch doctor --mode walltime` shows how to fix this; --mode icount" in before
    assert measured(repository.parent / "results").record.host_faults == ("smt: on",)
    assert FIRST in " ".join(ended.stdout.splitlines()[:3])
    for form in ("commit", "markdown", "mail", "html", "json", "benchstat"):
        text = _report(repository, form)
        assert FIRST in " ".join(text.split()), form
    assert FIRST in json.loads(_report(repository, "json"))["warnings"][0]["text"]


def _report(repository: Path, form: str) -> str:
    words = ["compare", str(repository.parent / "results"), "--format", form]
    return CliRunner().invoke(main, words, catch_exceptions=False).stdout


def test_of_a_bench_host_nothing_is_said(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host_with(monkeypatch)
    ended = run(repository, "--mode", "walltime")

    assert "bench host" not in ended.output
    assert measured(repository.parent / "results").record.host_faults == ()


def test_what_a_killed_run_left_tuned_is_no_fault_of_the_host_since_it_is_restored_first(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = replace(SMT, name="leftover-tuning")
    host_with(monkeypatch, left, leftover=Journal(boot_id="b", pid=1, written="2026-11-28", entries=()))
    ended = run(repository, "--mode", "walltime")

    assert "leftover-tuning" not in ended.output
    assert measured(repository.parent / "results").record.host_faults == ()


def test_a_run_that_goes_on_keeps_the_faults_of_the_host_where_it_began(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host_with(monkeypatch, SMT)
    assert run(repository, "--mode", "walltime").exit_code == 0
    about = repository.parent / "results/run.json"
    about.write_text(about.read_text().replace('"status": "complete"', '"status": "incomplete"'))
    host_with(monkeypatch)
    ended = run(repository, "--mode", "walltime")

    assert "resuming in" in ended.stderr
    assert measured(about.parent).record.host_faults == ("smt: on",)


@pytest.fixture
def both(repository: Path, monkeypatch: pytest.MonkeyPatch) -> Mapping[str, Run]:
    """Both modes of a head that is slower in some cases."""
    host_with(monkeypatch)
    change(repository, "behaviour", "slow\n", "bpf: Make it slow")
    ended = run(repository, "--mode", "both")
    assert ended.exit_code == 0, ended.output
    return {mode: measured(repository.parent / "results" / mode) for mode in ("icount", "walltime")}


def _cases(found: Run) -> set[str]:
    return {str(case.case) for case in found.record.plan.cases}


def test_both_measures_in_walltime_what_icount_left_unchanged(both: Mapping[str, Run]) -> None:
    changed = {str(case) for case in answered_by(both["icount"])}
    left_out = {str(row.case): row for row in both["walltime"].record.left_out}

    assert (both["icount"].record.mode, both["walltime"].record.mode) == ("icount", "walltime")
    assert changed
    assert _cases(both["walltime"]) == _cases(both["icount"]) - changed
    assert changed <= left_out.keys()
    assert "icount shows its change" in left_out[next(iter(changed))].reason


def test_both_measures_the_cases_that_the_user_names_in_each_mode(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host_with(monkeypatch)
    change(repository, "behaviour", "slow\n", "bpf: Make it slow")
    ended = run(repository, "--mode", "both", "--case", "seq-get/nr_maps=16")
    timed = measured(repository.parent / "results/walltime")

    assert ended.exit_code == 0
    assert "local-storage-cache-seq-get/nr_maps=16" in _cases(timed)
    assert ended.stdout.count("1 boot per kernel, ") == 2
    assert ended.stdout.index("1 slower") < ended.stdout.index("walltime measures what users feel")


def test_what_icount_measured_is_not_measured_again_by_the_same_command(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after ^C in walltime. Without --out, where a complete run is otherwise left alone and another one
    made.
    """
    host_with(monkeypatch)
    monkeypatch.chdir(repository.parent)
    case = ("--mode", "both", "--case", "seq-get/nr_maps=16")
    assert run(repository, *case, out=False).exit_code == 0
    folders = sorted(each.name.rpartition("-")[2] for each in Path("cliffwatch-results").iterdir())
    again = run(repository, *case, out=False)

    assert folders == ["icount", "walltime"]
    assert "icount already holds this run, complete; nothing is measured again" in again.stderr
    assert len(list(Path("cliffwatch-results").glob("*-icount*"))) == 1


def test_walltime_has_nothing_to_do_where_icount_shows_a_change_in_every_case(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host_with(monkeypatch)
    change(repository, "behaviour", "latency 300\n", "bpf: Make everything slow")
    ended = run(repository, "--mode", "both")

    assert ended.exit_code == 0
    assert "walltime is not measured: icount shows a change in every case" in ended.stderr
    assert not (repository.parent / "results/walltime").exists()


@pytest.mark.parametrize("words", [("--format", "json"), ("--report-out", "report.txt")])
def test_reports_of_two_modes_are_refused_where_one_file_cannot_hold_them(
    repository: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, str]
) -> None:
    monkeypatch.chdir(repository.parent)
    ended = run(repository, "--mode", "both", *words)

    assert ended.exit_code == 2
    assert "--mode both writes two reports" in ended.stderr
    assert "`cliffwatch compare DIR`" in ended.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--layouts", 12), "--layouts: 12 layouts cannot share 1 boot of each kernel"),
        (("--matched",), "--matched: with one layout of each kernel there is none to match"),
        (("--time", "1h"), "--time and --boots both say how many boots there are"),
        (("--boots", "auto", "--time", "3s"), "--time: 3 s is too short"),
        (("--pin", 4095, "--cpus", 1), "the guest cannot be pinned to CPU 4095"),
    ],
)
def test_both_refuses_what_walltime_cannot_plan_before_icount_begins(
    repository: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[object, ...], said: str
) -> None:
    host_with(monkeypatch)
    ended = run(repository, "--mode", "both", *words)

    assert ended.exit_code == 2
    assert said in ended.stderr
    assert not (repository.parent / "results").exists()
    assert run(repository, "--mode", "both", *words, "--dry-run").exit_code == 2


def test_the_plan_of_both_is_that_of_each(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host_with(monkeypatch)
    planned = run(repository, "--mode", "both", "--boots", 7, "--platform", "amd-rome", "--dry-run")

    assert "icount on emulated-x86-64, seed 1" in planned.stdout
    assert "walltime on amd-rome, seed 1" in planned.stdout
    assert "boots (2)" in planned.stdout
    assert "boots (21)" in planned.stdout
