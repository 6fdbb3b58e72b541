"""Suites of the user's own: a folder with a program, built in the sandbox, run in every boot, and judged as
it says itself.
"""

import json
import os
import re
import shutil
from pathlib import Path

import pytest
from run_command import cliffwatch, run
from toy import TESTS, change, git

from cliffwatch.catalogue.suite import Program
from cliffwatch.failure import Failure
from cliffwatch_runner.build.programs.errors import blame_suite

pytestmark = pytest.mark.usefixtures("stand_in")

COUNTER = TESTS / "data" / "suites" / "counter"


@pytest.fixture
def counter(tmp_path: Path) -> Path:
    """A copy that a test may change."""
    return Path(shutil.copytree(COUNTER, tmp_path / "mine" / "counter"))


def replaced(folder: Path, old: str, new: str, name: str = "suite.toml") -> None:
    text = (folder / name).read_text()
    assert old in text
    (folder / name).write_text(text.replace(old, new))


def record(repository: Path) -> dict[str, object]:
    content: dict[str, object] = json.loads((repository.parent / "results" / "run.json").read_text())
    return content


def rows(text: str) -> dict[str, dict[str, object]]:
    return {f"{row['params']['steps']} {row['metric']}": row for row in json.loads(text)["comparisons"]}


def test_each_metric_that_decides_has_a_verdict_of_its_own(repository: Path, counter: Path) -> None:
    change(repository, "behaviour", "slow\n", "bpf: Visit more states")
    ended = run(repository, "--suite", counter, "--format", "json")

    assert ended.exit_code == 0, ended.stderr
    found = rows(ended.stdout)
    assert {name: (row["verdict"], row["unit"], row["primary"]) for name, row in found.items()} == {
        "10 insns": ("unchanged", "insns", True),
        "10 states": ("regression", "states", True),
        "10 misses/op": ("unchanged", "misses/op", False),
        "10 bytes": ("inconclusive", "bytes", False),
        "20 insns": ("unchanged", "insns", True),
        "20 states": ("regression", "states", True),
        "20 misses/op": ("unchanged", "misses/op", False),
        "20 bytes": ("inconclusive", "bytes", False),
    }
    assert found["10 states"]["change"] == pytest.approx(0.2)


@pytest.mark.parametrize("form", ["go-bench", "csv"])
def test_an_exported_file_has_the_verdicts_of_its_run(repository: Path, counter: Path, form: str) -> None:
    change(repository, "behaviour", "slow\n", "bpf: Visit more states")
    of_run = rows(run(repository, "--suite", counter, "--format", "json").stdout)
    file = repository.parent / "exported"
    cliffwatch("export", repository.parent / "results", "--format", form, "--out", file)
    of_file = rows(cliffwatch("compare", file, "--format", "json").stdout)

    assert {name: (row["verdict"], row["primary"], row["threshold"]) for name, row in of_file.items()} == {
        name: (row["verdict"], row["primary"], row["threshold"]) for name, row in of_run.items()
    }


def test_the_record_says_which_program_measured_and_needs_no_bench(repository: Path, counter: Path) -> None:
    change(repository, "tools/testing/selftests/bpf/bench.c", "int main(\n", "bench: Break it")
    run(repository, "--suite", counter)

    written = record(repository)
    assert written["suites"] == ["counter"]
    assert written["bench"] is None
    (program,) = written["programs"]
    assert (program["suite"], program["name"], program["fixed_seed"]) == ("counter", "counter", True)
    assert written["plan"]["cases"][0]["argv"] == ["--label", "a b * $HOME", "--steps=10", "--fast"]


def test_a_program_is_built_once_for_each_content_of_its_folder(repository: Path, counter: Path) -> None:
    first = run(repository, "--suite", counter).stderr
    (repository.parent / "results").rename(repository.parent / "before")
    again = run(repository, "--suite", counter).stderr
    (repository.parent / "results").rename(repository.parent / "between")
    replaced(counter, "7 bytes", "8 bytes", "counter.c")
    changed = run(repository, "--suite", counter).stderr

    assert ["counter of counter cached" in text for text in (first, again, changed)] == [
        False,
        True,
        False,
    ]
    assert len(list((repository.parent / "cache" / "programs").iterdir())) == 2


GO = """#!/bin/sh
case "$*" in
  "env GOROOT") cd "$(dirname "$0")/.." && pwd ;;
  version) echo "go version go9.9 linux/amd64" ;;
  *) exec cc -O2 -o counter counter.c ;;
esac
"""


@pytest.mark.namespaces
def test_a_go_in_the_users_home_builds_like_one_below_usr(
    repository: Path, counter: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A build sees no home but it sees the Go that PATH names, wherever that lies."""
    program = tmp_path / "home" / "sdk" / "bin" / "go"
    program.parent.mkdir(parents=True)
    program.write_text(GO)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    text = (counter / "suite.toml").read_text()
    (counter / "suite.toml").write_text(re.sub(r"(?m)^build = .*$", 'build = "go build"', text))
    ended = run(repository, "--suite", counter)

    assert ended.exit_code == 0, ended.stderr
    assert "go9.9" in json.dumps(record(repository))


def test_a_script_is_a_program_with_what_it_needs_beside_it(repository: Path, counter: Path) -> None:
    (counter / "twice.sh").write_text('#!/bin/sh\nfor _ in 1 2; do ./counter "$@" || exit; done\n')
    replaced(counter, 'run = "counter"', 'run = "twice.sh"\nfiles = ["counter"]')
    ended = run(repository, "--suite", counter)

    assert ended.exit_code == 0, ended.stderr
    samples, *_ = (repository.parent / "results").glob("boots/*/samples.json")
    readings = {
        tuple(each["readings"])
        for each in json.loads(samples.read_text())["samples"]
        if each["metric"] == "insns"
    }
    assert readings == {(1000.0, 1000.0), (2000.0, 2000.0)}
    (program,) = record(repository)["programs"]
    assert (program["name"], program["fixed_seed"]) == ("twice.sh", None)


def test_data_is_given_to_the_program_and_its_hash_is_recorded(
    repository: Path, counter: Path, tmp_path: Path
) -> None:
    (tmp_path / "keys.txt").write_text("5\n")
    ended = run(repository, "--suite", counter, "--data", tmp_path / "keys.txt", "--format", "json")

    assert ended.exit_code == 0, ended.stderr
    assert rows(ended.stdout)["10 insns"]["head"] == 1005
    assert record(repository)["data"] == {
        "name": "keys.txt",
        "bytes": 2,
        "sha256": "f0b5c2c2211c8d67ed15e75e656c7862d086e9245420892a7de62cd9ec582a06",
    }


def test_what_a_tree_alone_has_gets_its_arguments_and_its_data(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "my keys.txt").write_text("5\n")
    given = ("--bench-args", "--keys 10 --file '{data}'", "--data", tmp_path / "my keys.txt")
    ended = run(repository, "--suite", "discovered", *given)

    assert ended.exit_code == 0, ended.stderr
    (case,) = record(repository)["plan"]["cases"]
    assert case["argv"] == ["--keys", "10", "--file", "{data}", "qp-trie-lookup"]
    assert case["params"] == {"args": "--keys 10 --file '{data}'"}


@pytest.mark.parametrize(
    ("behaviour", "code", "message"),
    [
        ("silent", 2, "counter: Count/steps=10/fast=yes: counter printed nothing"),
        ("broken", 2, "counter ended with status 1: counter: no such system call"),
        (
            "fewer",
            2,
            (
                "printed no states in states, which its suite declares as deciding; it printed bytes, insns,"
                " misses/op"
            ),
        ),
        (
            "other-unit",
            2,
            (
                "printed no insns in insns, which its suite declares as deciding; it printed bytes, cycles,"
                " misses/op"
            ),
        ),
    ],
)
def test_what_a_program_does_on_every_kernel_is_its_suites_fault(
    repository: Path, counter: Path, behaviour: str, code: int, message: str
) -> None:
    change(repository, "behaviour", f"{behaviour}\n", "Change what the program does")
    ended = run(repository, "--suite", counter, "--format", "json", base="HEAD")

    assert ended.exit_code == code
    assert message in ended.stderr
    if behaviour == "fewer":
        assert rows(ended.stdout)["10 insns"]["verdict"] == "unchanged"


def test_a_program_that_declares_no_unit_that_it_prints_gives_nothing(
    repository: Path, counter: Path
) -> None:
    for unit in ("insns", "states", "misses/op"):
        replaced(counter, f'unit = "{unit}"', f'unit = "{unit}-of-others"')
    ended = run(repository, "--suite", counter)

    assert ended.exit_code == 2
    assert (
        "printed no 'insns' in 'insns-of-others', which its suite declares; it printed insns, states,"
        " misses/op, bytes" in ended.stderr
    )
    assert (
        (next((repository.parent / "results").glob("boots/*/1/cases/000-Count.out")))
        .read_text()
        .startswith("Benchmark")
    )


def test_what_a_program_does_on_one_kernel_alone_is_the_kernels_fault(
    repository: Path, counter: Path
) -> None:
    change(repository, "behaviour", "broken\n", "bpf: Forget a system call")
    ended = run(repository, "--suite", counter)

    assert ended.exit_code == 3
    assert "Count/steps=10/fast=yes fails on head alone: counter ended with status 1" in ended.stderr


@pytest.mark.parametrize(
    ("old", "new", "messages"),
    [
        ('build = "make"', 'biuld = "make"', ["suite.toml:5: unknown key 'biuld'; did you mean 'build'?"]),
        (
            'run = "counter"',
            'run = "../counter"',
            ["suite.toml:6: 'run' is '../counter'; it must be the name of a file"],
        ),
        ('better = "lower" }', 'better = "less" }', ["suite.toml:12: 'better' is 'less'"]),
        (
            'build = "make"',
            'build = "make counter2"',
            ["suite counter: its program does not build", "No rule to make"],
        ),
        (
            'build = "make"',
            'build = "ln -s /etc/passwd counter"',
            ["its program builds, but counter in its output is a link"],
        ),
        ('build = "make"', 'build = "true"', ["its program builds, but counter in its output is not there"]),
        ('build = "make"', 'build = "zig build"', ["its program is built with zig, which is not there"]),
    ],
)
def test_what_is_wrong_with_a_suite_is_told_before_any_kernel_is_built(
    repository: Path, counter: Path, old: str, new: str, messages: list[str]
) -> None:
    replaced(counter, old, new)
    ended = run(repository, "--suite", counter)

    assert ended.exit_code == 2
    assert [message for message in messages if message not in ended.stderr] == []
    assert not list((repository.parent / "cache" / "kernels").glob("*/kernel.json"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--suite", "./nowhere"], "--suite nowhere is not a folder"),
        (["--suite", "{folder}/empty"], "has no suite.toml"),
        (["--suite", "{folder}/local-storage"], "there is already a suite 'local-storage'"),
        (["--bench-args", "--keys 10"], "--bench-args is for benchmarks that only the tree has"),
        (
            ["--suite", "discovered", "--bench-args", "--keys '10"],
            "No closing quotation: quote it as for a shell",
        ),
        (
            ["--suite", "discovered", "--bench-args", "--file {data}"],
            "{data} stands for a file, but none was given",
        ),
        (["--data", "{folder}/large"], "has 65 MiB; a guest takes at most 64 MiB"),
        (["--data", "{folder}/small"], "no program of this run reads --data"),
    ],
)
def test_what_cannot_be_given_to_programs_is_told_before_anything_is_fetched(
    repository: Path, counter: Path, tmp_path: Path, arguments: list[str], message: str
) -> None:
    (tmp_path / "empty").mkdir()
    shutil.copytree(counter, tmp_path / "local-storage")
    with (tmp_path / "large").open("wb") as large:
        large.truncate(65 << 20)
    (tmp_path / "small").write_text("5\n")
    ended = run(repository, *(word.replace("{folder}", str(tmp_path)) for word in arguments))

    assert ended.exit_code == 2
    assert message in " ".join(ended.stderr.replace("│", " ").split())
    assert not (repository.parent / "cache" / "mirror.git" / "HEAD").exists()


PROGRAM = Program(build="go test -c -o x.test", run="x.test", files=(), output="go-bench")


@pytest.mark.parametrize(
    ("log", "message"),
    [
        (
            (
                "x_test.go:4:2: no required module provides package golang.org/x/perf/benchunit; to add"
                " it:\n\tgo get golang.org/x/perf\n"
            ),
            "Go modules that it needs are not in the folder, and a build has no network",
        ),
        (
            (
                "go: golang.org/x/perf@v0.0.0-20260101000000-000000000000: module lookup disabled by"
                " GOPROXY=off\n"
            ),
            "Go modules that it needs are not in the folder",
        ),
        (
            "go: go.mod requires go >= 1.99 (running go 1.26.8; GOTOOLCHAIN=local)\n",
            "its go.mod wants go 1.99, and this host has 1.26.8",
        ),
        ("curl: (6) Could not resolve host: example.org\n", "it wants the network, and a build has none"),
    ],
)
def test_a_build_that_wants_what_no_build_gets_says_what_to_do(log: str, message: str) -> None:
    failure = Failure(whose="kernel", message="it does not build", next_step="fix the tree", evidence=log)
    told = blame_suite(failure, "mine", PROGRAM, own=True)

    assert told.whose == "usage"
    assert message in told.message
    assert told.evidence == log


def test_a_full_disk_is_no_suites_fault() -> None:
    failure = Failure(whose="host", message="the disk is full", next_step="make room")

    assert blame_suite(failure, "mine", PROGRAM, own=True).whose == "host"


@pytest.mark.timeout(900)
@pytest.mark.skipif(
    shutil.which("go") is None, reason="there is no Go here; test_case_output has what such a binary prints"
)
def test_a_go_package_that_needs_a_module_is_told_to_vendor_it(repository: Path, tmp_path: Path) -> None:
    home = Path(shutil.copytree(TESTS.parent / "examples" / "my-go-suite", tmp_path / "gone" / "my-go-suite"))
    replaced(home, '"syscall"\n', '"syscall"\n\n\t_ "golang.org/x/perf/benchunit"\n', "pipe_test.go")
    git(repository, "status")
    ended = run(repository, "--suite", home)

    assert ended.exit_code == 2
    assert "Go modules that it needs are not in the folder, and a build has no network" in ended.stderr
    assert "go mod vendor" in ended.stderr


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.skipif(
    shutil.which("go") is None, reason="there is no Go here; test_case_output has what such a binary prints"
)
def test_a_go_test_binary_is_a_program_like_any_other(repository: Path) -> None:
    """Its first build on a machine compiles what it needs of Go's own packages, which takes minutes."""
    ended = run(repository, "--suite", TESTS.parent / "examples" / "my-go-suite", "--format", "json")

    assert ended.exit_code == 0, ended.stderr
    found = {row["metric"]: row for row in json.loads(ended.stdout)["comparisons"]}
    assert {name: row["primary"] for name, row in found.items()} == {
        "insns/op": True,
        "allocs/op": True,
        "B/op": False,
        "syscalls/op": False,
    }
    assert found["syscalls/op"]["head"] == 2
    (program,) = record(repository)["programs"]
    assert program["fixed_seed"] is False
