"""Layouts of Go programs: each boot of a layout runs the program with its functions in an order of its own."""

import json
import os
import re
import shutil
from pathlib import Path

import pytest
from stepping_suite import needs_go
from test_rehearsal import rehearse
from test_suite_programs import COUNTER
from toy import change

from cliffwatch_runner.plan.plan import Plan, confirming_plan
from cliffwatch_runner.run import run as running

pytestmark = pytest.mark.usefixtures("stand_in")

PROGRAM = """package main

import (
\t"strconv"
\t"syscall"
\t"unsafe"
)

var mark string

//go:noinline
func moving() {}

func main() {
\tmoving()
\tfunction := moving
\tplace := **(**uintptr)(unsafe.Pointer(&function))
\tline := "BenchmarkWhere 1 " + strconv.Itoa(int(place)) + " place " + mark + " mark\\n"
\t_, _ = syscall.Write(1, []byte(line))
}
"""
SUITE = """title = "Where a function lies"
[program]
build = "go build -ldflags '-X main.mark=7' -o where ."
run = "where"
output = "go-bench"
[metrics]
place = { unit = "place", better = "lower", primary = true }
mark = { unit = "mark", better = "lower" }
[[benchmark]]
name = "Where"
"""


@pytest.fixture
def where(tmp_path: Path) -> Path:
    """A suite whose program prints the address of a function, and what the linker's flag of its own build set."""
    home = tmp_path / "where"
    home.mkdir()
    (home / "go.mod").write_text("module example.org/where\n\ngo 1.20\n")
    (home / "main.go").write_text(PROGRAM)
    (home / "suite.toml").write_text(SUITE)
    return home


def values(results: Path, metric: str) -> dict[str, list[tuple[str, float]]]:
    """The values of a metric with the arm of each, by the layout of their boots."""
    found: dict[str, list[tuple[str, float]]] = {}
    for path in sorted(results.glob("boots/*/boot.json")):
        boot = json.loads(path.read_text())
        samples = json.loads((path.parent / "samples.json").read_text())["samples"]
        of_metric = (each["value"] for each in samples if each["metric"] == metric)
        found.setdefault(boot["layout"], []).extend((boot["arm"], value) for value in of_metric)
    return found


@needs_go
def test_each_layout_is_a_program_of_its_own_in_both_stages_and_keeps_the_flags_of_its_build(
    repository: Path, where: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def further(_: Path, plan: Plan) -> Plan | None:
        confirmed = any(boot.stage == "confirm" for boot in plan.boots)
        return None if confirmed else confirming_plan(plan, (0,), arms=("base", "head"), boots=1)

    monkeypatch.setattr(running, "further_boots", further)
    ended = rehearse(repository, "--suite", where, "--boots", "4", "--layouts", "2")
    assert ended.exit_code == 0, ended.output

    places = values(repository.parent / "results", "place")
    assert [len(each) for each in places.values()] == [2] * 6 + [1] * 2
    assert all(len(set(each)) == 1 for each in places.values())
    assert len({value for each in places.values() for _, value in each}) == 8
    marks = values(repository.parent / "results", "mark").values()
    assert {value for each in marks for _, value in each} == {7}
    assert "programs with one layout" not in ended.output

    shutil.rmtree(repository.parent / "results")
    again = rehearse(repository, "--suite", where, "--boots", "4", "--layouts", "2")
    assert "where of where cached" in again.output
    assert values(repository.parent / "results", "place") == places


def go_that(folder: Path, links: str) -> Path:
    """A stand-in for go that calls cc, and its linker as go does with -toolexec."""
    (folder / "bin").mkdir(parents=True)
    scripts = {
        "go": f"""case "$*" in
  "env GOROOT") cd "$(dirname "$0")/.." && pwd ;;
  version) echo "go version go1.21.1 linux/amd64" ;;
  *) {links}; exec cc -O2 -o counter counter.c ;;
esac
""",
        "link": 'case "$*" in *-randlayout*) exit 2 ;; esac\n',
    }
    for name, script in scripts.items():
        (folder / "bin" / name).write_text(f"#!/bin/sh\n{script}")
        (folder / "bin" / name).chmod(0o755)
    return folder / "bin"


FULL = """case "$GOFLAGS" in *-toolexec=*) echo "link: No space left on device"; exit 1 ;; esac"""
CALLED = """case "$GOFLAGS" in
    *-toolexec=*) tool=${GOFLAGS##*-toolexec=sh }; sh "${tool%\\'}" "$(dirname "$0")/link" -o x || exit ;;
  esac"""


def counter_that(folder: Path, build: str | None) -> Path:
    """A suite that is built as it is, or by this command."""
    counter = Path(shutil.copytree(COUNTER, folder / "counter"))
    if build is not None:
        text = (counter / "suite.toml").read_text()
        (counter / "suite.toml").write_text(re.sub(r"(?m)^build = .*$", f'build = "{build}"', text))
    return counter


@pytest.mark.parametrize(
    ("build", "links", "why"),
    [
        (None, ":", "not built by Go"),
        ("go build", CALLED, "Go before 1.23"),
        ("go build", ":", "its build ignores GOFLAGS"),
    ],
)
@pytest.mark.namespaces
def test_a_program_of_one_layout_is_measured_as_it_is_and_the_report_says_so(
    repository: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    build: str | None,
    links: str,
    why: str,
) -> None:
    counter = counter_that(tmp_path, build)
    monkeypatch.setenv("PATH", f"{go_that(tmp_path / 'home' / 'sdk', links)}:{os.environ['PATH']}")
    change(repository, "behaviour", "slow\n", "bpf: Visit more states")
    ended = rehearse(repository, "--suite", counter, "--boots", "2", "--layouts", "2")

    assert ended.exit_code == 0, ended.output
    note = f"programs with one layout, counter of counter ({why}): a change of a few per cent may come from"
    assert f"P{note[1:]}" in " ".join(ended.stdout.split())
    record = json.loads((repository.parent / "results" / "run.json").read_text())
    assert any(each.startswith(note) for each in record["notes"])
    assert record["plan"]["layouts"] == 2


@pytest.mark.namespaces
def test_a_host_that_cannot_link_a_program_is_not_taken_for_a_program_of_one_layout(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counter = counter_that(tmp_path, "go build")
    monkeypatch.setenv("PATH", f"{go_that(tmp_path / 'home' / 'sdk', FULL)}:{os.environ['PATH']}")
    ended = rehearse(repository, "--suite", counter, "--boots", "2", "--layouts", "2")

    assert ended.exit_code == 4, ended.output
    assert "the disk is full" in ended.output
