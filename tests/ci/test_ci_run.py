"""One job of the matrix: what it measures, how it ends, and that nothing of the tree is a command to GitHub's
runner.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from msgspec.structs import replace
from toy import change, git

from cliffwatch.command.main import main
from cliffwatch.failure import Failure
from cliffwatch.formats.result_directory import Run, read_run
from cliffwatch.formats.setup import Setup
from cliffwatch.pull_request.policy import EMULATED, Policy, Target
from cliffwatch_runner.ci import measuring
from cliffwatch_runner.ci.job_plan import JobPlan, make_job_plan, read_job_plan

pytestmark = [pytest.mark.usefixtures("stand_in_guest"), pytest.mark.namespaces]

BENCH_HOST = Target(platform="amd-rome", mode="walltime", runs_on=("self-hosted",))


def plan_of(repository: Path, **more: Any) -> JobPlan:
    plan = make_job_plan(
        Policy(suites=("local-storage",)),
        base=git(repository, "rev-parse", "v6.12"),
        head=git(repository, "rev-parse", "HEAD"),
        commits=1,
        pull_request=None,
        series=None,
        trust="outside",
        targets=(EMULATED, BENCH_HOST),
        notes=(),
    )
    return replace(plan, boots=1, **more)


def run(repository: Path, plan: JobPlan | str, *more: object, mode: str = "icount") -> Result:
    platform = "amd-rome" if mode == "walltime" else "emulated-x86-64"
    folders = ["--cache", repository.parent / "cache", "--out", repository.parent / "results"]
    words = ["ci", "run", "--platform", platform, "--mode", mode, "--tree", repository, *folders, *more]
    env = {"CLIFFWATCH_PLAN": plan if isinstance(plan, str) else plan.text()}
    return CliRunner(env=env).invoke(main, [str(word) for word in words], catch_exceptions=False)


def commands(output: str) -> list[str]:
    lines = output.replace("\r", "\n").splitlines()
    return [line for line in lines if line.lstrip().startswith("::") or "##[" in line]


def test_a_plan_reads_back_as_it_was(repository: Path) -> None:
    plan = plan_of(repository, notable=0.005, fail_on=("regression",), notes=("A note.",))

    assert read_job_plan(plan.text()) == plan
    assert plan.text().isascii()


@pytest.mark.parametrize(
    "change_plan",
    [
        lambda plan: plan.update(head="$(id)"),
        lambda plan: plan.update(suites=["--upload=x"]),
        lambda plan: plan.update(format="other"),
        lambda plan: plan.update(more=1),
        lambda plan: plan.pop("targets"),
        lambda plan: plan.update(targets=[1]),
    ],
)
def test_a_plan_that_is_none_is_refused(repository: Path, change_plan: Any) -> None:
    content = json.loads(plan_of(repository).text())
    change_plan(content)

    ended = run(repository, json.dumps(content))

    assert ended.exit_code == 2
    assert "cliffwatch ci plan" in ended.output


def test_a_target_is_measured_and_the_fork_leaves_nothing_in_the_cache(repository: Path) -> None:
    change(repository, "behaviour", "slow\n", "bpf: Make it slow")
    ended = run(repository, plan_of(repository))

    assert ended.exit_code == 0, ended.output
    assert "5 slower (up to 25.0 % more instructions), 2 unchanged" in ended.output
    measured = read_run(repository.parent / "results")
    assert isinstance(measured, Run)
    assert (measured.record.platform, measured.record.mode) == ("emulated-x86-64", "icount")
    assert not list((repository.parent / "cache").glob("worktrees/*followed*"))


def test_the_policy_says_when_a_job_fails(repository: Path) -> None:
    change(repository, "behaviour", "slow\n", "bpf: Make it slow")

    assert run(repository, plan_of(repository, fail_on=("regression",))).exit_code == 1
    assert run(repository, plan_of(repository, fail_on=("failed",))).exit_code == 0


def test_a_kernel_that_does_not_build_fails_the_job_where_the_policy_says_so(repository: Path) -> None:
    change(repository, "kernel/bpf/core.c", "int broken(void) { return x; }\n", "bpf: Break it")

    ended = run(repository, plan_of(repository))
    assert ended.exit_code == 0
    assert "::warning title=cliffwatch::a kernel did not build or died" in ended.output
    assert run(repository, plan_of(repository, fail_on=("failed",))).exit_code == 1


def test_walltime_is_not_measured_where_doctor_finds_no_bench_host(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measuring, "to_fix", lambda _, mode: 3 if mode == "walltime" else 0)
    ended = run(repository, plan_of(repository), mode="walltime")

    assert ended.exit_code == 4
    assert "this runner is no bench host" in ended.output
    assert not (repository.parent / "results").exists()
    assert not (repository.parent / "cache/kernels").exists()


def test_walltime_is_measured_where_doctor_finds_one(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def record(request: Any, *_: Any) -> tuple[Failure, ...]:
        asked.append((request.mode, request.platform))
        return (Failure(whose="host", message="enough", next_step="nothing"),)

    monkeypatch.setattr(measuring, "to_fix", lambda *_: 0)
    monkeypatch.setattr(measuring, "run", record)
    run(repository, plan_of(repository), mode="walltime")

    assert asked == [("walltime", "amd-rome")]


@pytest.mark.parametrize(
    ("setup", "boots", "mode", "measured"),
    [
        (Setup(layouts=9, matched=True), "staged", "walltime", (9, True, None)),
        (Setup(seconds=1200), "auto", "walltime", (None, False, 1200)),
        (Setup(seconds=1200, layouts=1), "auto", "icount", (None, False, None)),
    ],
)
def test_layouts_and_time_of_the_policy_are_those_of_its_walltime(
    repository: Path, monkeypatch: pytest.MonkeyPatch, setup: Setup, boots: Any, mode: str, measured: Any
) -> None:
    asked = []

    def record(request: Any, *_: Any) -> tuple[Failure, ...]:
        asked.append((request.layouts, request.matched, request.seconds))
        return (Failure(whose="host", message="enough", next_step="nothing"),)

    monkeypatch.setattr(measuring, "to_fix", lambda *_: 0)
    monkeypatch.setattr(measuring, "run", record)
    plan = replace(plan_of(repository), setup=setup, boots=boots)
    assert read_job_plan(plan.text()) == plan
    run(repository, plan, mode=mode)

    assert asked == [measured]


def test_a_target_that_the_plan_does_not_have_is_refused(repository: Path) -> None:
    ended = run(repository, replace(plan_of(repository), targets=(EMULATED,)), mode="walltime")

    assert ended.exit_code == 2
    assert "the plan has no target 'amd-rome' in walltime" in ended.output


def test_nothing_of_the_tree_is_a_command_to_the_runner(repository: Path) -> None:
    """A commit's subject and a compiler's error, which quotes the source."""
    text = (
        "int broken(void) { return ; }\n#error\r::add-path::/tmp ##[add-path]/tmp\n::set-output name=a::b\n"
    )
    change(repository, "kernel/bpf/core.c", text, "::set-output name=plan::forged ##[group]x")

    ended = run(repository, plan_of(repository))

    assert "set-output name=plan" in ended.output
    assert commands(ended.output) == [
        "::warning title=cliffwatch::a kernel did not build or died: see the report for its error"
    ]


def test_the_summary_has_the_report_of_each_folder(repository: Path, tmp_path: Path) -> None:
    change(repository, "behaviour", "slow\n", "bpf: <img src=x> @torvalds `x`")
    run(repository, plan_of(repository))
    file = tmp_path / "summary"

    words = ["ci", "summary", str(tmp_path / "results"), str(tmp_path / "none"), "--summary", str(file)]
    ended = CliRunner().invoke(main, words, catch_exceptions=False)

    assert ended.exit_code == 0
    assert "### 5 slower (up to 25.0 % more instructions), 2 unchanged" in file.read_text()
    assert "### Nothing was measured" in file.read_text()
