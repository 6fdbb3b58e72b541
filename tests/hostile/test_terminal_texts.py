"""Nothing that a tree, a file or a service says moves the cursor of a terminal, colours it or turns its
reading direction.
"""

import io
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from cliffwatch.command.visible_console import VisibleConsole

HOSTILE = "a\x1b[2J\x1b]0;title\x07\x9b31m\u202eb\x08\r"
SEEN = set("\x1b\x07\x9b\u202e\x08\r")


def in_a_table() -> Table:
    table = Table(HOSTILE, title=HOSTILE)
    table.add_row(HOSTILE)
    return table


@pytest.mark.parametrize(
    "shown", [HOSTILE, escape(HOSTILE), Text(HOSTILE), in_a_table()], ids=lambda shown: type(shown).__name__
)
@pytest.mark.parametrize("colour", [None, "truecolor"])
def test_a_console_shows_the_letters_alone(shown: RenderableType, colour: str | None) -> None:
    written = io.StringIO()
    console = VisibleConsole(file=written, width=100, color_system=colour, force_terminal=bool(colour))

    console.print(shown)
    console.log(shown)

    text = written.getvalue()
    if colour:
        text = "".join(
            part.partition("m")[2] if part[:1] == "[" else f"?{part}" for part in f"[m{text}".split("\x1b")
        )
    assert not SEEN & set(text), text


def hostile_files(folder: Path) -> list[list[str]]:
    (folder / "go.txt").write_text(
        f"pkg: {HOSTILE}\nBenchmark{HOSTILE}x 1 2 ns/op\nwhat {HOSTILE}\nBenchmarkA 1 2 {HOSTILE}/op\n"
    )
    (folder / "bench.txt").write_text(
        f"Setting up benchmark '{HOSTILE}'...\nIter   0 ( 19.0us): {HOSTILE}\nSummary: {HOSTILE}\n"
    )
    (folder / "table.csv").write_text(
        f'suite,benchmark,metric,unit,value\n"{HOSTILE}","{HOSTILE}",m,"{HOSTILE}",1\n'
    )
    (folder / "suites/odd").mkdir(parents=True)
    (folder / "suites/odd/suite.toml").write_text(
        f"'{HOSTILE}' = 1\n".replace("\r", "").replace("\x1b", ""), "utf-8"
    )
    names = ("go.txt", "bench.txt", "table.csv")
    return [
        *(["parse", str(folder / name)] for name in names),
        *(["compare", str(folder / name), str(folder / name)] for name in names),
        ["compare", str(folder / HOSTILE), str(folder / "go.txt")],
        ["suites", "check", str(folder / "suites")],
        ["suites", "show", HOSTILE],
    ]


def test_commands_show_the_letters_alone(tmp_path: Path) -> None:
    for words in hostile_files(tmp_path):
        argv = [sys.executable, "-m", "cliffwatch.command", *words]
        done = subprocess.run(
            argv,
            capture_output=True,
            check=False,
            timeout=120,
            env={"LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin"},
        )
        said = (done.stdout + done.stderr).decode(errors="replace")
        assert not SEEN & set(said), (words, said)
