"""Exit 1 means that --fail-on was met, and nothing else ends with it."""

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from cliffwatch.command.main import main

A, B = (str(Path(__file__).parents[1] / f"data/inputs/latin1-locale/{name}.txt") for name in "ab")
COMMAND = [sys.executable, "-m", "cliffwatch.command"]


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (ValueError("an odd value"), 4, "ValueError: an odd value"),
        (EOFError("a cut file"), 4, "EOFError"),
        (ImportError("no module named scipy"), 4, "ImportError"),
        (RecursionError(), 4, "RecursionError"),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"), 4, "UnicodeDecodeError"),
        (PermissionError(13, "Permission denied", "x"), 4, "Permission denied"),
        (MemoryError(), 4, "too little memory"),
        (OSError(28, "No space left on device"), 4, "the disk is full"),
        (click.ClickException("a word"), 2, "a word"),
        (click.FileError("x", "a hint"), 2, "a hint"),
        (click.Abort(), 130, "interrupted"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (BrokenPipeError(32, "Broken pipe"), 141, ""),
    ],
    ids=lambda each: type(each).__name__ if isinstance(each, BaseException) else "",
)
def test_an_error_that_nobody_expected_is_never_exit_1(
    error: BaseException, code: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr("cliffwatch.command.compare.compare_all", fail)

    ended = CliRunner().invoke(main, ["compare", A, B], catch_exceptions=False)

    assert ended.exit_code == code
    assert said in ended.stderr
    assert ended.stdout == ""


def test_an_unexpected_error_shows_where_it_came_from_and_asks_for_a_report(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object) -> None:
        raise ValueError("\x1b[2J")

    monkeypatch.setattr("cliffwatch.command.compare.compare_all", fail)
    ended = CliRunner().invoke(main, ["compare", A, B])

    assert "compare.py" in ended.stderr
    assert "please report it" in ended.stderr
    assert "\x1b" not in ended.stderr


def test_a_verdict_is_exit_1() -> None:
    assert CliRunner().invoke(main, ["compare", A, B, "--fail-on", "regression"]).exit_code == 1


def test_a_bisection_is_stopped_by_an_error_and_judges_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """`git bisect run` takes every code below 128 for a judgement."""

    def fail(*_: object, **__: object) -> None:
        raise ValueError("an odd value")

    monkeypatch.setattr("cliffwatch_runner.command.bisection.bisect_run.bisection_request", fail)
    words = ["bisect-run", "--tree", str(tmp_path), "--good", "x", "--case", "y"]

    assert CliRunner().invoke(main, words).exit_code == 128


@pytest.mark.parametrize("words", [["compare", A, B], ["--help"]], ids=lambda words: words[0])
def test_output_that_nobody_reads_is_no_verdict(words: list[str]) -> None:
    """`cliffwatch … | head -1` under pipefail."""
    reading, writing = os.pipe()
    os.close(reading)
    ended = subprocess.run([*COMMAND, *words], check=False, stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)

    assert (ended.returncode, ended.stderr) == (141, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("words", [["compare", A, B], ["parse", A], ["--help"]], ids=lambda words: words[0])
def test_output_onto_a_full_disk_is_no_verdict(words: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run([*COMMAND, *words], check=False, stdout=full, stderr=subprocess.PIPE)

    assert ended.returncode == 4, ended.stderr
    assert b"the disk is full" in ended.stderr
