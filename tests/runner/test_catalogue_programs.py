"""Suites of the catalogue that bring a program: built from what came with Cliffwatch, run and judged as its
bench suites are.
"""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from run_command import run
from toy import TESTS, change, request, run_toy

from cliffwatch.catalogue import folder, load
from cliffwatch.formats.result_directory import Run

pytestmark = pytest.mark.usefixtures("stand_in")

COUNTER = TESTS / "data" / "suites" / "counter"
CASE = "Count/steps=10/fast=yes"


@pytest.fixture
def catalogue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A catalogue of one suite of bench and one with a program."""
    suites = tmp_path / "suites"
    shutil.copytree(TESTS.parent / "suites" / "local-storage", suites / "local-storage")
    shutil.copytree(COUNTER, suites / "counter")
    for module in (folder, load):
        monkeypatch.setattr(module, "suites_folder", lambda: suites)
    _read_anew()
    yield suites
    monkeypatch.undo()
    _read_anew()


def _read_anew() -> None:
    load.load_catalogue.cache_clear()
    folder._quoted_texts.cache_clear()


def replaced(suites: Path, old: str, new: str, name: str = "suite.toml") -> None:
    file = suites / "counter" / name
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))


def rows(text: str, benchmark: str = "Count") -> dict[str, dict[str, object]]:
    found = [row for row in json.loads(text)["comparisons"] if row["benchmark"] == benchmark]
    return {f"{row['params'].get('steps')} {row['metric']}": row for row in found}


def record(repository: Path) -> Any:
    return json.loads((repository.parent / "results" / "run.json").read_text())


def test_the_catalogue_says_what_is_known_of_a_programs_metrics(repository: Path, catalogue: Path) -> None:
    columns = "case,metric,boots,difference,kernel,emulator,day"
    row = f"{CASE},states,4,0.15,6.12.117,QEMU 7.2.22,2026-11-22"
    (catalogue / "repeatability.csv").write_text(f"{columns}\n{row}\n")
    change(repository, "behaviour", "slow\n", "bpf: Visit more states")
    ended = run(repository, "--suite", "counter", "--format", "json", "--all-metrics")

    assert ended.exit_code == 0, ended.stderr
    assert record(repository)["declared"] == []
    assert record(repository)["bench"] is None
    found = rows(ended.stdout)
    assert {
        name: (each["verdict"], each["primary"]) for name, each in found.items() if name.startswith("20")
    } == {
        "20 insns": ("unchanged", True),
        "20 states": ("regression", True),
        "20 misses/op": ("unchanged", False),
        "20 bytes": ("inconclusive", False),
    }
    assert found["10 states"]["verdict"] == "unchanged"
    assert found["10 states"]["threshold"] == pytest.approx(0.6)


def test_a_program_of_the_catalogue_that_reads_a_file_is_given_it(
    repository: Path, catalogue: Path, tmp_path: Path
) -> None:
    (tmp_path / "keys.txt").write_text("5\n")
    refused = run(repository, "--suite", "counter", "--data", tmp_path / "keys.txt")
    assert refused.exit_code == 2
    assert "only your own suites do, some of the catalogue" in refused.stderr

    replaced(catalogue, 'output = "go-bench"', 'output = "go-bench"\nreads_data = true')
    _read_anew()
    ended = run(repository, "--suite", "counter", "--data", tmp_path / "keys.txt", "--format", "json")

    assert ended.exit_code == 0, ended.stderr
    assert rows(ended.stdout)["10 insns"]["head"] == 1005


def test_all_is_bench_and_programs(repository: Path, catalogue: Path) -> None:
    ended = run(repository, "--suite", "all")

    assert ended.exit_code == 0, ended.stderr
    assert {case["suite"] for case in record(repository)["plan"]["cases"]} == {"counter", "local-storage"}
    assert [program["suite"] for program in record(repository)["programs"]] == ["counter"]
    assert record(repository)["bench"] is not None


def test_all_leaves_out_what_does_not_build_here_and_says_why(repository: Path, catalogue: Path) -> None:
    replaced(catalogue, 'build = "make"', 'build = "zig build"')
    ended = run(repository, "--suite", "all")

    assert ended.exit_code == 0, ended.stderr
    reason = "suite counter: its program is built with zig, which is not there: install zig under /usr"
    assert {case["suite"] for case in record(repository)["plan"]["cases"]} == {"local-storage"}
    left_out = [each for each in record(repository)["left_out"] if each["suite"] == "counter"]
    assert [(each["status"], each["reason"].startswith(reason)) for each in left_out] == [
        ("not-run", True)
    ] * 2
    assert [note for note in record(repository)["notes"] if note.startswith(f"left out: {reason}")]


@pytest.mark.parametrize("suites", ["counter", "all,counter"])
def test_a_suite_that_is_named_and_does_not_build_is_the_hosts_fault(
    repository: Path, catalogue: Path, suites: str
) -> None:
    replaced(catalogue, 'build = "make"', 'build = "make nothing"')
    ended = run(repository, "--suite", suites)

    assert ended.exit_code == 4
    assert "suite counter: its program does not build on this host" in ended.stderr
    assert "leave the suite out" in ended.stderr


def test_the_tree_under_test_brings_no_program(repository: Path, catalogue: Path) -> None:
    (repository / "suites" / "counter").mkdir(parents=True)
    change(repository, "suites/counter/counter.c", "#error from the tree\n", "Bring a suite")
    run(repository, "--suite", "counter")
    (of_installed,) = record(repository)["programs"]
    (repository.parent / "results").rename(repository.parent / "before")
    replaced(catalogue, "7 bytes", "8 bytes", "counter.c")
    ended = run(repository, "--suite", "counter")
    (of_changed,) = record(repository)["programs"]

    assert ended.exit_code == 0, ended.stderr
    assert of_installed["source_digest"] != of_changed["source_digest"]


def test_a_program_that_cannot_measure_here_says_so_with_status_4(repository: Path, catalogue: Path) -> None:
    script = (
        '#!/bin/sh\n[ "$BEHAVIOUR" = slow ] || exec ./counter "$@"\necho "counter: this kernel has no states"'
        " >&2\nexit 4\n"
    )
    (catalogue / "counter" / "asks.sh").write_text(script)
    replaced(catalogue, 'run = "counter"', 'run = "asks.sh"\nfiles = ["counter"]')
    change(repository, "behaviour", "slow\n", "bpf: Take states away")
    ended = run(repository, "--suite", "counter", "--format", "json")

    assert ended.exit_code == 0, ended.stderr
    found = rows(ended.stdout)["10 insns"]
    assert found["verdict"] == "missing"
    assert found["reason"] == "head: counter: this kernel has no states"


def test_a_program_of_the_catalogue_that_fails_is_judged_as_bench_is(
    repository: Path, catalogue: Path
) -> None:
    change(repository, "behaviour", "broken\n", "bpf: Forget a system call")
    ended = run(repository, "--suite", "counter", "--format", "json", base="HEAD")

    assert ended.exit_code == 0, ended.stderr
    assert {row["verdict"] for row in json.loads(ended.stdout)["comparisons"]} == {"failed"}


def test_programs_are_not_shared_across_trust_and_are_the_same_to_a_series(
    repository: Path, catalogue: Path, tmp_path: Path
) -> None:
    local = run_toy(request(repository, tmp_path / "one", suites=("counter",), cache=tmp_path / "cache"))
    followed = run_toy(
        request(repository, tmp_path / "two", suites=("counter",), cache=tmp_path / "cache", trust="followed")
    )

    assert isinstance(local, Run)
    assert isinstance(followed, Run)
    one, two = (each.record.programs[0] for each in (local, followed))
    assert one.digest != two.digest
    assert one.source_digest == two.source_digest
