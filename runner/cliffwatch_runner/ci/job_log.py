"""Writes a step's log and the files that GitHub's runner reads.

Foreign text in the log cannot become a runner command.

The runner treats a line as a command if it begins with `::` after blanks or contains `##[`. It also breaks
lines at carriage returns. Foreign text in a log: commit subjects, branch names, compiler errors and benchmark
output.
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
"""Maximum size of a step's summary, in bytes. GitHub does not show a larger summary at all."""

_COMMAND = re.compile(r"^[^\w\[]*::")
_OLD_COMMAND = re.compile(r"##(?=\[)")


def harmless(text: str) -> str:
    """Returns the text with runner commands and terminal control characters disarmed in every line."""
    return "\n".join(_harmless_line(line) for line in text.splitlines())


def _harmless_line(line: str) -> str:
    shown = _OLD_COMMAND.sub("## ", plain(line))
    return f"| {shown}" if _COMMAND.match(shown) else shown


class HarmlessStream(io.TextIOBase):
    """A stream for all output except Cliffwatch's own runner commands.

    Passes whole lines on, disarmed by `harmless`.
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
    """Returns the runner command that shows a text beside the job.

    Safe for any text. GitHub shows ten per step.
    """
    escaped = plain(" ".join(text.split())).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return f"::{level} title=cliffwatch::{escaped[:1000]}"


def failure_annotation(failure: Failure) -> str:
    return annotation("error", str(failure))


def write_outputs(file: Path, outputs: Mapping[str, str]) -> None:
    """Appends a step's outputs to the runner's file. Random end marks keep a value from ending early."""
    with file.open("a", encoding="utf-8") as sink:
        for name, value in outputs.items():
            mark = f"end-{secrets.token_hex(16)}"
            sink.write(f"{name}<<{mark}\n{value}\n{mark}\n")


def add_to_summary(file: Path, markdown: str) -> bool:
    """Appends Markdown to a step's summary, cut to the space left. Returns False if it was cut."""
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
