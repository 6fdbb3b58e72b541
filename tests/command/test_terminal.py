"""NO_COLOR and TERM=dumb mean the same to every command: text, and nothing that styles it."""

import io
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from cliffwatch.command import terminal
from cliffwatch_runner.run.progress import LiveLine, PlainLines, progress_display

GO = "arm: base\n" + "BenchmarkX 1 5 ns/op\n" * 6 + "arm: head\n" + "BenchmarkX 1 6 ns/op\n" * 6
ESCAPE = b"\x1b"


def on_a_terminal(*arguments: str, env: dict[str, str], folder: Path) -> bytes:
    """What a command writes to a terminal, both streams of it."""
    ours, theirs = pty.openpty()
    kept = {
        name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR", "TERM")
    }
    command = [sys.executable, "-m", "cliffwatch.command", *arguments]
    started = subprocess.Popen(
        command,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**kept, "HOME": str(folder), **env},
        cwd=folder,
    )
    os.close(theirs)
    written = b""
    try:
        while chunk := os.read(ours, 65536):
            written += chunk
    except OSError:  # how Linux says that the other end is closed
        pass
    finally:
        os.close(ours)
        started.wait()
    return written


COMMANDS = [
    ("--help",),
    ("compare", "--no-such-option"),
    ("compare", "go.txt"),
    ("parse", "go.txt"),
    ("suites",),
    ("suites", "show", "local-storage"),
    ("doctor", "--mode", "icount"),
    ("run", "--tree", "nothing-here", "--base", "a", "--head", "b", "--mode", "icount"),
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_command_writes_an_escape_sequence_where_nobody_wants_one(
    command: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "go.txt").write_text(GO)

    assert ESCAPE not in on_a_terminal(*command, env={"TERM": "dumb"}, folder=tmp_path)
    quiet = on_a_terminal(*command, env={"TERM": "xterm-256color", "NO_COLOR": "1"}, folder=tmp_path)
    assert not [
        code for code in quiet.split(ESCAPE)[1:] if code.split(b"m")[0].strip(b"[0123456789;") == b""
    ], quiet


def test_a_terminal_that_can_is_given_colour(tmp_path: Path) -> None:
    """The other tests of this file could not fail where nothing is ever coloured."""
    (tmp_path / "go.txt").write_text(GO)

    for command in (("--help",), ("compare", "go.txt"), ("suites",)):
        assert ESCAPE in on_a_terminal(*command, env={"TERM": "xterm-256color"}, folder=tmp_path)


def test_an_explicit_wish_for_colour_wins(tmp_path: Path) -> None:
    (tmp_path / "go.txt").write_text(GO)

    env = {"TERM": "dumb", "NO_COLOR": "1"}
    assert ESCAPE in on_a_terminal("compare", "go.txt", "--color", "always", env=env, folder=tmp_path)


def test_progress_is_plain_lines_where_the_cursor_cannot_move(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    assert isinstance(progress_display(Console(force_terminal=True)), PlainLines)

    monkeypatch.setenv("TERM", "xterm")
    progress = progress_display(Console(force_terminal=True, file=io.StringIO()))
    assert isinstance(progress, LiveLine)
    progress.close()


@pytest.mark.parametrize(
    ("name", "value", "plain"), [("NO_COLOR", "1", True), ("NO_COLOR", "", False), ("TERM", "dumb", True)]
)
def test_an_empty_no_color_is_none(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, plain: bool
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv(name, value)

    assert terminal.wants_no_colour() is plain
