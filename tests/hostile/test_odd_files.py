"""Files that nobody's program writes: whoever opens them is told so at once."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cliffwatch.catalogue.read import read_suite
from cliffwatch.formats.result_directory import read_run
from cliffwatch.parsers.detect import parse_any
from cliffwatch.parsers.readings import Problem
from cliffwatch.pull_request.policy import read_policy

RUN = next(path.parent for path in sorted((Path(__file__).parents[1] / "data/runs").rglob("run.json")))
MOST_SECONDS = 5.0
SUITES = {
    "levels of lists": "a = " + "[" * 5000,
    "levels of tables": "a = " + "{a=" * 3000,
    "a head of levels": "[" * 50_000,
    "a head of blanks": "[" + " " * 100_000,
    "heads of blanks": ("[" + " " * 3000 + "\n") * 30,
    "5,000 digits": "a = " + "9" * 5000,
    "a path of names": "[" + "a." * 1500 + "a]\n",
    "thousands of faults": "".join(f"[a{number}]\n" for number in range(20_000)),
    "a megabyte": "# " + "x" * (1 << 20),
    "no UTF-8": "a = '\udcff'",
}


@pytest.mark.parametrize("text", SUITES.values(), ids=list(SUITES))
def test_an_odd_suite_is_refused_at_once(tmp_path: Path, text: str) -> None:
    file = tmp_path / "suite.toml"
    file.write_bytes(text.encode(errors="surrogateescape"))
    began = time.thread_time()

    errors = read_suite(file)

    assert time.thread_time() - began < MOST_SECONDS
    assert isinstance(errors, tuple)
    assert all(isinstance(each, Problem) and each.reason for each in errors)


@pytest.mark.parametrize("name", ["levels of lists", "5,000 digits"])
def test_an_odd_policy_is_refused_at_once(name: str) -> None:
    assert not hasattr(read_policy(SUITES[name], "policy.toml"), "suites")


def test_a_pipe_in_place_of_a_suite_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "suite.toml")

    errors = read_suite(tmp_path / "suite.toml")

    assert isinstance(errors, tuple)
    assert "it is not a regular file" in errors[0].reason


def files_of_a_run() -> list[str]:
    return sorted({path.name for path in RUN.rglob("*.json")})


@pytest.mark.parametrize("name", files_of_a_run())
def test_a_pipe_in_a_result_directory_holds_up_no_comparison(tmp_path: Path, name: str) -> None:
    shutil.copytree(RUN, tmp_path / "run")
    for path in list((tmp_path / "run").rglob(name)):
        path.unlink()
        os.mkfifo(path)

    argv = [
        sys.executable,
        "-m",
        "cliffwatch.command",
        "compare",
        str(tmp_path / "run"),
        str(tmp_path / "run"),
    ]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False)

    assert done.returncode in (0, 1, 2), done.stderr
    assert "Traceback" not in done.stderr
    read_run(tmp_path / "run")


@pytest.mark.parametrize(
    "pump",
    [
        "\n",
        " ",
        "\r",
        "\t",
        ">",
        "[",
        "{",
        "=",
        "-",
        "0",
        "a",
        '"',
        "\x1b[",
        "Benchmark",
        "Iter   0 ",
        "--- FAIL: ",
    ],
)
@pytest.mark.parametrize(
    "begin",
    [
        "",
        "BenchmarkA 1 2 ns/op\n",
        "Setting up benchmark 'x'...\n",
        "From: a\nSubject: b\n\n",
        "file_name,prog_name\n",
    ],
)
def test_a_text_of_one_thing_is_parsed_at_once(begin: str, pump: str) -> None:
    began = time.thread_time()

    parse_any(begin + pump * ((64 << 10) // len(pump)))

    assert time.thread_time() - began < 2
