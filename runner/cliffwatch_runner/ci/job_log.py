"""What a step writes: its log, in which nobody else's text is a command to GitHub's runner, and the files
that the runner reads.

The runner takes a line for a command that begins with `::` after blanks, or has `##[` anywhere, and breaks
lines at carriage returns too. Commit subjects, names of branches, compilers' errors and benchmarks' output
come by here.
"""

import io
import re
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, TextIO

from cliffwatch.failure import Failure
from cliffwatch.reports.styles import plain

LARGEST_SUMMARY = 1 << 20
"""Bytes that GitHub shows of a step's summary; of a larger one it shows none."""

_COMMAND = re.compile(r"^[^\w\[]*::")
_OLD_COMMAND = re.compile(r"##(?=\[)")


def harmless(text: str) -> str:
    """The lines of a text, none of which the runner takes for a command and none of which moves a cursor."""
    return "\n".join(_harmless_line(line) for line in text.splitlines())


def _harmless_line(line: str) -> str:
    shown = _OLD_COMMAND.sub("## ", plain(line))
    return f"| {shown}" if _COMMAND.match(shown) else shown


class HarmlessStream(io.TextIOBase):
    """A stream for everything that is printed beside commands of ours: lines reach the one below whole and
    harmless.
    """

    def __init__(self, below: TextIO) -> None:
        self._below = below
        self._begun = ""

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        whole, newline, self._begun = (self._begun + text).rpartition("\n")
        if newline:
            self._below.write(harmless(whole) + "\n")
        return len(text)

    def flush(self) -> None:
        if self.closed or self._below.closed:
            return
        if self._begun:
            self._below.write(harmless(self._begun) + "\n")
            self._begun = ""
        self._below.flush()


def annotation(level: Literal["error", "warning", "notice"], text: str) -> str:
    """The command that shows a text beside the job, whatever is in it. Ten of a step are shown."""
    escaped = plain(" ".join(text.split())).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return f"::{level} title=cliffwatch::{escaped[:1000]}"


def failure_annotation(failure: Failure) -> str:
    return annotation("error", f"{failure.message}: {failure.next_step}")


def write_outputs(file: Path, outputs: Mapping[str, str]) -> None:
    """Appends outputs of a step to the runner's file, each between marks that no value can hold."""
    with file.open("a", encoding="utf-8") as sink:
        for name, value in outputs.items():
            mark = f"end-{secrets.token_hex(16)}"
            sink.write(f"{name}<<{mark}\n{value}\n{mark}\n")


def add_to_summary(file: Path, markdown: str) -> bool:
    """Appends to a step's summary what still fits; False where it had to be cut."""
    there = file.stat().st_size if file.exists() else 0
    room = LARGEST_SUMMARY - there - 200
    content = markdown.encode(errors="replace")
    fits = len(content) <= room
    shown = (
        content
        if fits
        else content[: max(0, room)] + b"\n\nThe rest did not fit here: it is in the artifact.\n"
    )
    with file.open("ab") as sink:
        sink.write(shown.rstrip(b"\n") + b"\n\n")
    return fits
