"""`cliffwatch host calibrate` measures suite after suite, within its time, and goes on where it stopped."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner, Result
from equal_kernels import around, of_kernel, run_of
from toy import git

from cliffwatch.command.main import main
from cliffwatch.failure import HttpFailure, wrong_usage
from cliffwatch_runner import clock, process
from cliffwatch_runner.command.hosts import calibrate
from cliffwatch_runner.upload.client import Answered, Client


@dataclass
class Measuring:
    """Stands for `cliffwatch run`: each run takes an hour of a clock that stands still otherwise."""

    now: float = 0.0
    measured: list[list[str]] = field(default_factory=list)
    complete: set[Path] = field(default_factory=set)

    measures: bool = True
    status: int = 0
    commit: str = "b" * 40
    real: Callable[..., Any] = process.run

    def run(self, argv: list[str], **named: Any) -> Any:
        if "cliffwatch.command" not in argv:
            return self.real(argv, **named)
        if not self.measures:
            return SimpleNamespace(status=4)
        folder = Path(argv[argv.index("--out") + 1])
        if folder not in self.complete:
            self.measured.append(argv)
            self.complete.add(folder)
            self.now += 3600
        return SimpleNamespace(status=self.status)

    def read(self, folder: Path) -> Any:
        if folder not in self.complete:
            return wrong_usage("nothing there", "measure")
        arms = [of_kernel(name, around(100, 0.001, 12)) for name in ("base", "head")]
        arms = [replace(arm, facts={**arm.facts, "commit": self.commit}) for arm in arms]
        made = run_of(*arms, platform="rehearsal-x86-64", suite=folder.name)
        return replace(made, path=folder)


@pytest.fixture
def measuring(repository: Path, monkeypatch: pytest.MonkeyPatch) -> Measuring:
    """The tree `linux` is in the current folder."""
    stand_in = Measuring()
    monkeypatch.setattr(process, "run", stand_in.run)
    monkeypatch.setattr(calibrate, "read_run", stand_in.read)
    monkeypatch.setattr(clock, "monotonic", lambda: stand_in.now)
    monkeypatch.chdir(repository.parent)
    return stand_in


def run(out: Path, *words: str) -> Result:
    plain = [
        "host",
        "calibrate",
        "--tree",
        "linux",
        "--mode",
        "walltime",
        "--accel",
        "tcg",
        "--out",
        str(out),
        "--cache",
        str(out / "cache"),
    ]
    return CliRunner().invoke(
        main, [*plain, "--suite", "local-storage,ringbufs", *words], catch_exceptions=False
    )


def test_what_the_time_did_not_allow_is_done_by_the_next_call(measuring: Measuring, tmp_path: Path) -> None:
    first = run(tmp_path, "--time", "60m")
    assert first.exit_code == 4
    assert "the time is over before ringbufs: the same command goes on" in first.stderr
    assert "not measured yet: ringbufs" in first.stdout

    again = run(tmp_path, "--time", "60m", "--format", "json")
    assert again.exit_code == 0
    assert json.loads(again.stdout)["passed"]
    assert json.loads((tmp_path / "calibration.json").read_text())["suites"] == ["local-storage", "ringbufs"]
    kept = tmp_path / "cache/calibrations/rehearsal-x86-64-walltime.json"
    assert json.loads(kept.read_text()) == json.loads((tmp_path / "calibration.json").read_text())
    assert [argv[argv.index("--suite") + 1] for argv in measuring.measured] == ["local-storage", "ringbufs"]


def test_base_and_head_are_one_kernel(measuring: Measuring, tmp_path: Path) -> None:
    run(tmp_path, "--boots", "3", "--case", "seq-get/nr_maps=16")
    argv = measuring.measured[0]
    assert argv[argv.index("--base") + 1] == argv[argv.index("--head") + 1] == "HEAD"
    assert argv[argv.index("--accel") + 1] == "tcg"
    assert argv[argv.index("--boots") + 1] == "3"
    assert argv[argv.index("--case") + 1] == "seq-get/nr_maps=16"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--suite", "nosuch"), "there is no suite 'nosuch'"),
        (("--suite", ","), "there is no suite ''"),
        (("--suite", "auto"), "--suite auto: a kernel and itself differ in no code"),
        (("--case", "nosuch"), "--case: no case of the plan matches 'nosuch'"),
        (("--platform", "amd-rome"), "would store emulated time under the name of a machine"),
        (("--time", "soon"), "'soon' is no time: give one such as"),
        (("--time", "0m"), "'0m' is no time"),
        (("--mode", "icount"), "--accel"),
        (("--tree", "nosuch"), "nosuch"),
        (("--url", "http://localhost:1", "--token-file", "nosuch"), "nosuch"),
        (("--url", "http://localhost:1", "--name", "../runs"), "a host's name has"),
    ],
)
@pytest.mark.usefixtures("measuring")
def test_what_it_cannot_do_is_refused_before_anything_is_measured(
    tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    ended = run(tmp_path, *words)
    assert ended.exit_code == 2
    assert message in ended.output
    assert "suite local-storage, 1 of 2" not in ended.output


def test_a_service_that_would_not_store_it_is_asked_before_anything_is_measured(
    measuring: Measuring, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[tuple[str, Any]] = []

    def post(_: Client, path: str, body: Any) -> Answered | HttpFailure:
        sent.append((path, body))
        if refusing:
            return HttpFailure(whose="usage", message="rome-1 has a token of its own", next_step="use it")
        return Answered(status=200, body={})

    monkeypatch.setattr(Client, "post", post)
    (tmp_path / "token").write_text("a-token")
    (tmp_path / "token").chmod(0o600)
    service = ("--url", "http://localhost:1", "--name", "rome-1", "--token-file", str(tmp_path / "token"))

    refusing = True
    ended = run(tmp_path / "out", *service)
    assert ended.exit_code == 2
    assert "rome-1 has a token of its own\n  use it" in ended.stderr
    assert sent == [
        ("/hosts/rome-1/calibrations/check", {"platform": "rehearsal-x86-64", "mode": "walltime"})
    ]
    assert measuring.measured == []

    refusing = False
    ended = run(tmp_path / "out", *service)
    assert ended.exit_code == 0
    assert [path for path, _ in sent[1:]] == [
        "/hosts/rome-1/calibrations/check",
        "/hosts/rome-1/calibrations",
    ]


def test_a_case_is_measured_in_the_suite_that_has_it(measuring: Measuring, tmp_path: Path) -> None:
    ended = run(tmp_path, "--case", "seq-get/nr_maps=16")
    assert ended.exit_code == 0, ended.output
    assert [argv[argv.index("--suite") + 1] for argv in measuring.measured] == ["local-storage"]


def test_it_measures_on_the_platform_and_cpus_that_runs_of_the_host_have(
    measuring: Measuring, tmp_path: Path
) -> None:
    run(tmp_path, "--platform", "rehearsal-rome", "--pin", "2,3", "--time", "90s")
    argv = measuring.measured[0]
    assert argv[argv.index("--platform") + 1] == "rehearsal-rome"
    assert argv[argv.index("--pin") + 1] == "2,3"


@pytest.mark.parametrize(
    ("status", "commit", "used"),
    [(0, "HEAD", True), (3, "HEAD", True), (3, "b" * 40, False), (2, "HEAD", False), (4, "HEAD", False)],
    ids=["the same run", "the same, whose cases failed", "a kernel before", "another run", "none could be"],
)
def test_a_complete_run_in_the_folder_is_used_if_it_is_the_one_that_was_asked_for(
    measuring: Measuring, repository: Path, tmp_path: Path, status: int, commit: str, used: bool
) -> None:
    measuring.commit = git(repository, "rev-parse", commit) if commit == "HEAD" else commit
    assert run(tmp_path).exit_code == 0
    (tmp_path / "calibration.json").unlink()
    measuring.status = status

    ended = run(tmp_path)
    assert (tmp_path / "calibration.json").exists() is used
    if used:
        assert "suite ringbufs was measured on 2026-11-21T10:00:00+00:00: another --out" in ended.stderr
    else:
        assert ended.exit_code == 2
        assert "holds a run that this command did not make" in ended.stderr
        assert "name another folder with --out" in ended.stderr


def test_without_any_result_it_says_so(measuring: Measuring, tmp_path: Path) -> None:
    measuring.measures = False
    ended = run(tmp_path)
    assert ended.exit_code == 2
    assert "suite local-storage: no results: nothing there" in ended.stderr
    assert "no suite was measured" in ended.stderr
