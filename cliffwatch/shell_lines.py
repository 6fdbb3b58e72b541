"""Breaks shell commands into short lines, for comments, mails and commit messages."""

import shlex
from collections.abc import Sequence

WIDTH = 72
"""Columns of a line, of a mail and of a commit message."""


def repeat_command(**options: str | bool) -> str:
    """Returns the `cliffwatch run` command with these options, by name. Empty and false ones are left out."""
    given = [(f"--{name}", value) for name, value in options.items() if value]
    words = [word for name, value in given for word in ((name,) if value is True else (name, str(value)))]
    return shlex.join(["cliffwatch", "run", *words])


def break_commands(repeat: str, width: int = WIDTH) -> str:
    """Breaks shell commands into short lines without changing any word."""
    return "\n".join(_break_command(line, width) for line in repeat.splitlines())


def _break_command(line: str, width: int) -> str:
    try:
        words = [shlex.quote(each) for each in shlex.split(line)]
    except ValueError:
        return line
    lines, current = [], ""
    for each in _join_values(words):
        if current and len(current) + len(each) + 3 > width:
            lines.append(current)
            current = f"    {each}"
        else:
            current = f"{current} {each}" if current else each
    return " \\\n".join([*lines, current])


def _join_values(words: Sequence[str]) -> list[str]:
    """Joins each option with its value."""
    grouped: list[str] = []
    for index, each in enumerate(words):
        before = words[index - 1] if index else ""
        if before.startswith("--") and not each.startswith("-"):
            grouped[-1] += f" {each}"
        else:
            grouped.append(each)
    return grouped
