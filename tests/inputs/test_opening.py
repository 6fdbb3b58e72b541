"""Every input is opened once, and everything is decided from what was read: nothing is lost on the way in."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cliffwatch.command.main import main

CASE = Path(__file__).parents[1] / "data/inputs/pipe-drops-first-8k"
BASE, HEAD = CASE / "base.txt", CASE / "head.txt"
ROWS = ("suite", "benchmark", "metric", "n_base", "n_head", "base", "head", "change", "verdict", "reason")


def cliffwatch(*arguments: object, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(main, list(map(str, arguments)), input=stdin, catch_exceptions=False)


def rows(ended: Result) -> list[list[object]]:
    return [[row[name] for name in ROWS] for row in json.loads(ended.stdout)["comparisons"]]


def expected() -> list[list[object]]:
    found = rows(cliffwatch("compare", BASE, HEAD, "--format", "json"))
    assert [row[-2] for row in found].count("regression") == 1
    assert len(found) == 40
    return found


def fed(path: Path, content: bytes) -> Path:
    """A FIFO into which somebody writes, as a shell's <(…) is one."""
    os.mkfifo(path)
    threading.Thread(target=path.write_bytes, args=(content,), daemon=True).start()
    return path


def test_two_pipes_lose_nothing(tmp_path: Path) -> None:
    pipes = fed(tmp_path / "b", BASE.read_bytes()), fed(tmp_path / "h", HEAD.read_bytes())

    assert rows(cliffwatch("compare", *pipes, "--format", "json")) == expected()


@pytest.mark.parametrize("name", ["-", "/dev/stdin"])
def test_standard_input_is_a_side(name: str) -> None:
    command = [sys.executable, "-m", "cliffwatch.command", "compare", str(BASE), name, "--format", "json"]
    ended = subprocess.run(command, input=HEAD.read_bytes(), capture_output=True, check=True)

    assert (
        json.loads(ended.stdout)["comparisons"]
        == json.loads(cliffwatch("compare", BASE, HEAD, "--format", "json").stdout)["comparisons"]
    )


def test_one_file_of_two_arms_comes_through_standard_input(tmp_path: Path) -> None:
    both = tmp_path / "both.txt"
    both.write_text(f"arm: base\n{BASE.read_text()}arm: head\n{HEAD.read_text()}")

    whole = cliffwatch("compare", both, "--format", "json")
    assert rows(cliffwatch("compare", "-", "--format", "json", stdin=both.read_bytes())) == rows(whole)
    assert (
        rows(cliffwatch("compare", "--format", "json", "--", BASE, "-:head", stdin=both.read_bytes()))
        == expected()
    )


@pytest.mark.parametrize(
    "command", [("parse", "--format", "json"), ("export", "--format", "csv"), ("export",)]
)
def test_every_command_that_reads_takes_standard_input_and_pipes(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    named, piped = (
        cliffwatch(*command, each) for each in (BASE, fed(tmp_path / "base.txt", BASE.read_bytes()))
    )
    typed = cliffwatch(*command, "-", stdin=BASE.read_bytes())

    assert named.exit_code == piped.exit_code == typed.exit_code == 0
    assert piped.stdout == named.stdout.replace(str(BASE), str(tmp_path / "base.txt"))
    assert len(typed.stdout.splitlines()) == len(named.stdout.splitlines())


@pytest.mark.parametrize(
    "arguments",
    [
        ("compare", "-", "-"),
        ("compare", "--", "-", "-:head"),
        ("compare", BASE, HEAD, "--confirm", "-", "-"),
        ("compare", BASE, "-", "--less", "-"),
        ("parse", "-", "-"),
    ],
)
def test_one_pipe_is_one_input(arguments: tuple[object, ...]) -> None:
    ended = cliffwatch(*arguments, stdin=HEAD.read_bytes())

    assert ended.exit_code == 2
    assert "are the same pipe, which can be read only once" in ended.stderr


def test_a_fifo_that_is_named_twice_is_refused_before_anybody_waits(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "both")
    ended = cliffwatch("compare", tmp_path / "both", tmp_path / "both")

    assert ended.exit_code == 2
    assert "are the same pipe" in ended.stderr


@pytest.mark.parametrize("make", [lambda path: None, lambda path: path.mkdir()], ids=["absent", "a folder"])
def test_what_cannot_be_read_is_said(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "x")
    ended = cliffwatch("compare", BASE, tmp_path / "x")

    assert ended.exit_code == 2
    assert ended.stderr.startswith("cliffwatch: ")
    assert ended.stdout == ""
