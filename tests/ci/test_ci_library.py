"""A Go library's revisions, as a job measures them: base and head of the library on one kernel, and what its
pull request is told.
"""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from msgspec.structs import replace
from stepping_suite import MODULE, be_the_catalogue, needs_go, proxy_environment, write_module, write_suite
from toy import change, git

from cliffwatch.catalogue.folder import suites_folder
from cliffwatch.command.main import main
from cliffwatch.formats.result_directory import Run, read_run
from cliffwatch.pull_request.policy import EMULATED, LIBRARY_DEFAULT
from cliffwatch_runner.ci.job_plan import JobPlan, LibraryPlan, make_job_plan
from cliffwatch_runner.ci.published_results import library_of

pytestmark = [needs_go, pytest.mark.usefixtures("stand_in_guest", "catalogue"), pytest.mark.namespaces]

VALUES = "%d ns/op %[1]d B/op 7 allocs/op"
METRICS = "\n".join(
    f'"{unit}" = {{ unit = "{unit}", better = "lower", primary = true }}'
    for unit in ("ns/op", "B/op", "allocs/op")
)


@pytest.fixture
def catalogue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """One suite, which is built with the library."""
    for name, value in proxy_environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    write_suite(tmp_path / "catalogue" / "stepping", VALUES, METRICS)
    real = suites_folder()
    be_the_catalogue(tmp_path / "catalogue")
    yield
    be_the_catalogue(real)


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all tests: what Go compiles of its own takes a minute."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """The library's repository: 1,000 steps in base, 900 in head."""
    folder = write_module(tmp_path / "steps", 1000)
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "steps: Begin")
    write_module(folder, 900)
    change(folder, "README", "steps\n", "steps: Take fewer")
    return folder


def plan_of(library: Path, **more: Any) -> JobPlan:
    plan = make_job_plan(
        LIBRARY_DEFAULT,
        base=git(library, "rev-parse", "HEAD^"),
        head=git(library, "rev-parse", "HEAD"),
        commits=1,
        pull_request=7,
        series=None,
        trust="followed",
        targets=(EMULATED,),
        notes=(),
        library=LibraryPlan(module=MODULE, kernel_tree="https://nowhere.invalid/linux.git", kernel="v6.12"),
    )
    return replace(plan, boots=2, suites=("stepping",), **more)


def run(library: Path, repository: Path, plan: JobPlan, cache: Path) -> Result:
    folders = ["--cache", cache, "--out", repository.parent / "results"]
    words = ["ci", "run", "--platform", "emulated-x86-64", "--mode", "icount", "--tree", library, *folders]
    words += ["--kernel-tree", repository]
    env = {"CLIFFWATCH_PLAN": plan.text()}
    return CliRunner(env=env).invoke(main, [str(word) for word in words], catch_exceptions=False)


def test_base_and_head_of_a_library_are_measured_on_one_kernel_and_told_unit_by_unit(
    library: Path, repository: Path, tmp_path: Path, cache: Path
) -> None:
    plan = plan_of(library)
    ended = run(library, repository, plan, cache)

    assert ended.exit_code == 0, ended.output
    results = repository.parent / "results"
    measured = read_run(results)
    assert isinstance(measured, Run)
    found = library_of(measured)
    assert found is not None
    assert (found.module, found.base, found.head) == (MODULE, plan.base, plan.head)
    assert measured.arms["base"].facts["commit"] == measured.arms["head"].facts["commit"]
    assert measured.record.arm_by_name["head"].label.endswith(f", {MODULE}@{plan.head[:12]}")
    assert len(list((cache / "kernels").iterdir())) == 1
    assert "cliffwatch-library-" not in (results / "run.json").read_text()

    summary = CliRunner().invoke(main, ["ci", "summary", str(results)], catch_exceptions=False).output
    assert "### 2 better (" in summary
    for unit in ("insns/op", "B/op", "allocs/op"):
        assert [line for line in summary.splitlines() if line.startswith(f"{unit} ")], unit
    event = tmp_path / "event.json"
    event.write_text(json.dumps(workflow_run(plan)))
    words = ["ci", "comment", str(results), "--event", str(event)]
    told = CliRunner().invoke(main, words, catch_exceptions=False).output
    assert "### Cliffwatch: 2 better (" in told
    assert f"`{plan.base[:12]}` → `{plan.head[:12]}`" in told
    assert "| ▼ -10.00 %" in told
    assert f"git -C library-head fetch --depth 1 https://github.com/stranger/steps {plan.head}" in " ".join(
        told.replace("\\\n", "").split()
    )
    assert f"'head=v6.12 module={MODULE}=./library-head'" in told


def workflow_run(plan: JobPlan) -> dict[str, Any]:
    run = {
        "id": 6,
        "run_attempt": 1,
        "event": "pull_request",
        "head_sha": plan.head,
        "head_branch": "topic",
        "head_repository": {"full_name": "stranger/steps"},
    }
    return {"workflow_run": run, "repository": {"full_name": "kernel/steps", "default_branch": "main"}}


def test_a_revision_that_the_librarys_repository_does_not_have_is_told(
    library: Path, repository: Path, cache: Path
) -> None:
    ended = run(library, repository, plan_of(library, head="3" * 40), cache)

    assert ended.exit_code == 2
    assert "has no revision '3333333333333333333333333333333333333333'" in ended.output
    assert not (repository.parent / "results").exists()


def test_a_library_that_the_suite_does_not_build_with_says_where(
    library: Path, repository: Path, cache: Path
) -> None:
    change(library, "steps.go", "package steps\n\nfunc Other() int { return 1 }\n", "steps: Rename")

    ended = run(library, repository, plan_of(library), cache)

    assert ended.exit_code == 2
    assert "undefined: steps.Count" in ended.output


def test_links_of_a_library_lead_nowhere(library: Path, repository: Path, cache: Path) -> None:
    (library / "secret.go").symlink_to("/etc/passwd")
    git(library, "add", "--all")
    git(library, "commit", "--quiet", "--message", "steps: Look")

    ended = run(library, repository, plan_of(library), cache)

    assert ended.exit_code == 2
    assert "root:x:0" not in ended.output


def test_what_a_librarys_go_mod_names_is_asked_of_the_proxy_alone(
    library: Path, repository: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither from the address that it names, nor with this user's credentials, nor by a program that
    fetches.
    """
    monkeypatch.setenv("GOPROXY", f"{_proxy()},direct")
    monkeypatch.setenv("GOPRIVATE", "*")
    monkeypatch.setenv("GOFLAGS", "-toolexec=/bin/false")
    monkeypatch.setenv("NETRC", "/root/.netrc")
    text = (library / "go.mod").read_text() + "\nrequire 127.0.0.1.nip.io/inner v1.0.0\n"
    change(library, "go.mod", text, "steps: Need an inner address")
    change(library, "more.go", 'package steps\n\nimport _ "127.0.0.1.nip.io/inner"\n', "steps: Use it")
    ended = run(library, repository, plan_of(library), cache)

    assert ended.exit_code == 2
    assert "127.0.0.1.nip.io/inner" in ended.output


def _proxy() -> str:
    shown = subprocess.run(["go", "env", "GOPROXY"], check=True, capture_output=True, text=True)
    return shown.stdout.strip()
