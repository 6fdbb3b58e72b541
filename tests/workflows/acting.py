"""Runs a tree's workflow with act, on this machine and without network: what GitHub has beyond act is played
by tests/workflows/actions.
"""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
ACTIONS = Path(__file__).parent / "actions"
CALLER = ROOT / "examples/github/kernel-tree.yml"


@dataclass(frozen=True)
class Acted:
    """How a workflow ended: act's own log, the commands that it carried out for steps (set-output of the
    runner's file too), the summary of the steps, and the folder of the artifacts.
    """

    status: int
    log: str
    commands: frozenset[tuple[str, str]]
    summary: str
    artifacts: Path


def act_program() -> str:
    found = shutil.which("act", path=str(Path(sys.executable).parent)) or shutil.which("act")
    if found is None:
        pytest.skip("act is not installed: make test-programs")
    return found


def act(
    tree: Path, name: str, event: dict[str, Any], folder: Path, cliffwatch: Path, *, cache: Path | None = None
) -> Acted:
    """Runs the caller's workflow of a tree for an event, with `cliffwatch` as the program of that name on the
    runner.
    """
    put_program(folder, cliffwatch)
    return acted(tree, CALLER.read_text(), name, event, folder, cache=cache)


def put_program(folder: Path, cliffwatch: Path, **variables: str) -> None:
    """Makes `cliffwatch` a program of the runner, with these environment variables in place of those that act
    sets.
    """
    (folder / "bin").mkdir(exist_ok=True)
    words = " ".join(f"{name}={value}" for name, value in variables.items())
    (folder / "bin/cliffwatch").write_text(
        f'#!/bin/sh\nexec env {words} {sys.executable} {cliffwatch} "$@"\n'
    )
    (folder / "bin/cliffwatch").chmod(0o755)


def acted(
    tree: Path,
    workflow: str,
    name: str,
    event: dict[str, Any],
    folder: Path,
    *more: str,
    cache: Path | None = None,
    net: bool = False,
) -> Acted:
    """Runs a workflow of a tree for an event; with `net`, its jobs reach what listens on this machine."""
    (tree / ".github/workflows").mkdir(parents=True, exist_ok=True)
    (tree / ".github/workflows/caller.yml").write_text(workflow)
    programs, artifacts, home = folder / "bin", folder / "artifacts", folder / "home"
    for each in (artifacts, home):
        each.mkdir(exist_ok=True)
    file = folder / "event.json"
    file.write_text(json.dumps(event))
    words = [act_program(), name, "--eventpath", str(file), "--json", "--no-cache-server", "--pull=false"]
    words += ["--action-offline-mode", "--platform", "ubuntu-24.04=-self-hosted"]
    words += ["--env", f"ARTIFACTS={artifacts}", "--var", f"CLIFFWATCH_TREE={tree}"]
    words += [word for replaced, by in _played() for word in ("--local-repository", f"{replaced}={by}")]
    env = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "HOME": str(home)}
    env["XDG_CACHE_HOME"] = str(cache or folder / "cache")
    env.pop("DOCKER_HOST", None)
    alone = [] if net else ["unshare", "--user", "--map-current-user", "--net"]
    ended = subprocess.run(
        [*alone, *words, *more], cwd=tree, env=env, capture_output=True, text=True, check=False, timeout=3600
    )
    lines = [json.loads(line) for line in ended.stdout.splitlines() if line.startswith("{")]
    summary = "\n".join(str(line["msg"]) for line in lines if "Summary - " in str(line.get("msg")))
    commands = frozenset(
        (str(line["command"]), str(line.get("name")))
        for line in lines
        if line.get("command", "summary") != "summary"
    )
    return Acted(ended.returncode, ended.stdout + ended.stderr, commands, summary, artifacts)


def _played() -> list[tuple[str, Path]]:
    """Repositories and actions as the workflows name them, and the folders that stand for them."""
    workflows = [
        yaml.safe_load((ROOT / f".github/workflows/{name}.yml").read_text())
        for name in ("benchmark", "nightly")
    ]
    steps = [
        step for each in workflows for job in each["jobs"].values() for step in job["steps"] if "uses" in step
    ]
    called = yaml.safe_load(CALLER.read_text())["jobs"]["benchmark"]["uses"]
    reference = called.rpartition("@")[2]
    played = {
        _repository_of(step["uses"]): ACTIONS / step["uses"].split("/")[1].partition("@")[0] for step in steps
    }
    return [(f"cliffwatch/cliffwatch@{reference}", ROOT), *sorted(played.items())]


def _repository_of(uses: str) -> str:
    """`actions/cache@COMMIT` of `actions/cache/save@COMMIT`."""
    path, _, commit = uses.partition("@")
    return f"{'/'.join(path.split('/')[:2])}@{commit}"
