"""A Go library calls the reusable workflow: its pull request is planned, base and head are measured on one
kernel, and the summary has a table a unit.
"""

import json
from pathlib import Path
from typing import Any

from acting import ROOT, acted, put_program
from stepping_suite import MODULE, needs_go, proxy_environment, write_module, write_suite
from toy import change, git, toy_repository

COMMAND = Path(__file__).parent / "stand_in_library_command.py"
CALLER = ROOT / "examples/github/go-library.yml"
METRICS = "\n".join(
    f'"{unit}" = {{ unit = "{unit}", better = "lower", primary = true }}'
    for unit in ("ns/op", "B/op", "allocs/op")
)


def library_of(folder: Path) -> tuple[Path, str, str]:
    """The library's repository with its base, which has a policy, and a head that takes fewer steps."""
    library = write_module(folder / "steps", 1000)
    git(library, "init", "--quiet", "--initial-branch=main")
    git(library, "remote", "add", "origin", "https://github.com/example/steps")
    base = change(library, ".cliffwatch.toml", 'suites = ["stepping"]\nboots = 2\n', "steps: Begin")
    write_module(library, 900)
    return library, base, change(library, "README", "steps\n", "steps: Take fewer")


def pull_request(base: str, head: str) -> dict[str, Any]:
    owner = {
        "full_name": "example/steps",
        "default_branch": "main",
        "name": "steps",
        "owner": {"login": "example"},
    }
    sides = {"base": (base, "main", "example/steps"), "head": (head, "topic", "stranger/steps")}
    pull = {
        side: {"sha": sha, "ref": ref, "repo": {"full_name": name}}
        for side, (sha, ref, name) in sides.items()
    }
    return {"number": 7, "pull_request": {"number": 7, "body": "", **pull}, "repository": owner}


@needs_go
def test_a_librarys_pull_request_is_measured_on_one_kernel(tmp_path: Path, monkeypatch: Any) -> None:
    library, base, head = library_of(tmp_path)
    variables = proxy_environment(tmp_path)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    write_suite(tmp_path / "catalogue" / "stepping", "%d ns/op %[1]d B/op 7 allocs/op", METRICS)
    put_program(tmp_path, COMMAND, STEPPING=str(tmp_path / "catalogue"), **variables)
    kernel = toy_repository(tmp_path / "kernel")

    ended = acted(
        library,
        CALLER.read_text(),
        "pull_request",
        pull_request(base, head),
        tmp_path,
        "--var",
        f"CLIFFWATCH_KERNEL_TREE={kernel}",
    )

    assert ended.status == 0, ended.log
    assert f"1 commit from `{base[:12]}` to `{head[:12]}` on emulated-x86-64 (icount)" in ended.summary
    assert f"`{MODULE}` on linux `v6.12`" in ended.summary
    assert "### 2 better (" in ended.summary
    for unit in ("insns/op", "B/op", "allocs/op"):
        assert f"{unit} " in ended.summary
    record = json.loads((ended.artifacts / "cliffwatch-emulated-x86-64-icount/run.json").read_text())
    assert [arm["settings"]["modules"][MODULE] for arm in record["arms"]] == [base, head]
    assert len({arm["facts"]["commit"] for arm in record["arms"]}) == 1
