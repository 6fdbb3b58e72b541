"""A bisection measures no case that executes nothing which differs from the good commit."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner
from isolation_here import ISOLATION, leave_out_root
from toy import change, git

from cliffwatch.command.main import main
from cliffwatch.samples import Arm, Boot, CaseKey, CaseOutcome, Sample
from cliffwatch_runner.plan.run_plan import plan_boots
from cliffwatch_runner.plan.selection import Selection
from cliffwatch_runner.run import prepare
from cliffwatch_runner.run.bisection.unchanged import complete_commit
from cliffwatch_runner.run.built_run import BuiltRun

LOOKUP = CaseKey("local-storage", "local-storage-cache-seq-get", (("nr_maps", "16"),))
CONTROL = CaseKey("local-storage", "local-storage-cache-hashmap-control", (("hashmap_nr_keys_used", "10"),))


@pytest.fixture
def by_behaviour(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The guest that plays the kernel executes the file `behaviour`, and no other. There is no emulator that
    counts it.
    """

    def leaving_out(run: BuiltRun) -> BuiltRun:
        behaviour = {
            git(repository, "show", f"{subject.revision.commit}:behaviour")
            for subject in run.subjects
            if subject.revision is not None
        }
        if run.request.only_affected is None or len(behaviour) > 1:
            return run
        left_out = tuple(
            CaseOutcome(case=case.key, status="unchanged-build", reason="x") for case in run.plan.cases
        )
        return plan_boots(run, Selection(cases=(), left_out=left_out))

    monkeypatch.setattr(prepare, "leave_out_unchanged", leaving_out)


@pytest.mark.usefixtures("stand_in", "by_behaviour")
def test_commits_that_change_nothing_boot_nothing(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave_out_root()
    monkeypatch.chdir(tmp_path)
    for number in range(3):
        change(repository, "README", f"{number}\n", f"docs: Say {number}")
    culprit = change(repository, "behaviour", "latency 206.000\n", "bpf: Make it slower")
    change(repository, "README", "after\n", "docs: Say after")
    words = ["--tree", str(repository), "--good", "v6.12", "--bad", "master", "--case", "seq-get/nr_maps=16"]
    words += [
        "--isolation",
        ISOLATION,
        "--cache",
        str(tmp_path / "cache"),
        "--out",
        "bisection",
        "--format",
        "json",
    ]

    ended = CliRunner().invoke(main, ["bisect", *words, "--mode", "icount"], catch_exceptions=False)

    assert ended.exit_code == 0, ended.stderr
    named = [commit["commit"] for each in json.loads(ended.stdout)["culprits"] for commit in each["commits"]]
    assert named == [culprit]
    booted = {
        folder.name: len(list((folder / "boots").glob("*"))) for folder in Path("bisection/runs").iterdir()
    }
    good = git(repository, "rev-parse", "v6.12")[:12]
    before = git(repository, "rev-parse", f"{culprit}~1")[:12]
    assert booted[f"{good}-{before}-icount"] == 0
    assert booted[f"{good}-{git(repository, 'rev-parse', 'master')[:12]}-icount"] == 2
    log = Path("bisection/bisect.log").read_text()
    assert f"against {good}: {LOOKUP} insns/op not measured: unchanged build" in log
    assert "200.000 -> 200.000" not in log


def boot(index: int, **values: float) -> Boot:
    of_name = {"lookup": LOOKUP, "control": CONTROL}
    return Boot(
        index=index,
        block=index,
        samples=tuple(
            Sample(case=of_name[name], metric="hits-latency", unit="ns/op", value=value)
            for name, value in values.items()
        ),
        outcomes=tuple(CaseOutcome(case=of_name[name], status="ok") for name in values),
    )


def arm(*boots: Boot, unchanged: tuple[CaseKey, ...] = ()) -> Arm:
    outcomes = tuple(CaseOutcome(case=case, status="unchanged-build", reason="x") for case in unchanged)
    return Arm(name="head", label="x", mode="icount", platform=None, boots=boots, unchanged=outcomes)


def values_of(measured: Arm) -> list[dict[CaseKey, float]]:
    return [{sample.case: sample.value for sample in boot.samples} for boot in measured.boots]


GOOD = arm(boot(1, lookup=200, control=50), boot(2, lookup=201, control=51))


def measured(head: Arm) -> Arm:
    run: Any = SimpleNamespace(arms={"head": head})
    return complete_commit(run, GOOD).arm


def test_what_was_not_measured_counts_as_the_good_commit_measured_it() -> None:
    head = measured(arm(boot(1, lookup=206), boot(2, lookup=207), unchanged=(CONTROL,)))

    assert values_of(head) == [{LOOKUP: 206, CONTROL: 50}, {LOOKUP: 207, CONTROL: 51}]
    assert head.unchanged == ()


def test_a_commit_without_any_boot_is_as_the_good_one() -> None:
    assert values_of(measured(arm(unchanged=(LOOKUP, CONTROL)))) == values_of(GOOD)


def test_a_case_that_failed_is_not_filled_in() -> None:
    failing = Boot(
        index=1, block=1, samples=(), outcomes=(CaseOutcome(case=LOOKUP, status="failed", reason="x"),)
    )

    assert values_of(measured(arm(failing, unchanged=(CONTROL,)))) == [{CONTROL: 50}, {CONTROL: 51}]
