"""The help of the command: its groups, and what a misspelt name is answered with."""

import os
import re
import subprocess
import sys
from collections import Counter
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from click import Context, Option
from click.testing import CliRunner

from cliffwatch.command.help_groups import COMMANDS, OPTIONS_OF_RUN
from cliffwatch.command.main import ENTRY_POINT_GROUP, main
from cliffwatch_runner.command.run import run

PROGRAM = Path(sys.executable).with_name("cliffwatch")


def test_every_command_is_in_one_group() -> None:
    grouped = Counter(name for names in COMMANDS.values() for name in names)
    assert grouped == Counter(entry.name for entry in entry_points(group=ENTRY_POINT_GROUP))


def test_every_option_of_run_is_in_one_group() -> None:
    grouped = Counter(name for names in OPTIONS_OF_RUN.values() for name in names)
    options = [max(each.opts, key=len) for each in run.get_params(Context(run)) if isinstance(each, Option)]
    assert grouped == Counter(name for name in options if name not in ("--help", "--color"))


def test_help_shows_the_groups() -> None:
    for words, groups in ((["--help"], COMMANDS), (["run", "--help"], OPTIONS_OF_RUN)):
        shown = subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=True).stdout
        assert [name for name in re.findall(r"╭─ (.*?) ─", shown) if name != "Options"] == list(groups)


def words_of(output: str) -> str:
    return " ".join(output.replace("│", " ").split())


@pytest.mark.parametrize(
    ("words", "guess"),
    [
        (["compar"], "did you mean 'compare'?"),
        (["run", "--treee", "."], "--tree"),
    ],
)
def test_a_misspelt_name_is_guessed(words: list[str], guess: str) -> None:
    ended = CliRunner().invoke(main, words)
    assert ended.exit_code == 2
    assert guess in words_of(ended.output)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["run", "HEAD"], "'HEAD' is not a range: write BASE..HEAD"),
        (["run", "a..b", "--head", "c"], "a..b names both sides: leave out --base and --head"),
    ],
)
def test_a_range_that_is_none_is_refused(words: list[str], why: str) -> None:
    ended = CliRunner().invoke(main, words)
    assert ended.exit_code == 2
    assert why in words_of(ended.output)


@pytest.mark.parametrize(
    ("words", "number", "completion"),
    [("cliffwatch comp", 1, "compare"), ("cliffwatch run --su", 2, "--suite")],
)
def test_shells_complete_commands_and_options(words: str, number: int, completion: str) -> None:
    shell = {"_CLIFFWATCH_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(number)}
    done = subprocess.run([PROGRAM], env={**os.environ, **shell}, capture_output=True, text=True, check=True)
    assert f"plain,{completion}" in done.stdout.splitlines()
