"""The hidden first line that identifies a comment by Cliffwatch: its kind, and the state that it shows."""

import re
from dataclasses import dataclass

_LINE = re.compile(r"<!-- cliffwatch ([A-Za-z0-9:._-]{1,100}) (\d{1,18}) -->")


@dataclass(frozen=True, slots=True, kw_only=True)
class Marker:
    """The marker of a comment."""

    kind: str
    """A pull request has at most one comment of each kind."""
    sequence: int
    """Sequence of the state that the comment shows: later states have larger numbers."""

    def __str__(self) -> str:
        return f"<!-- cliffwatch {self.kind} {self.sequence} -->"


def read_marker(body: str) -> Marker | None:
    """Reads the marker from the first line of a comment; None if there is none."""
    match = _LINE.fullmatch(body.lstrip("\r\n").partition("\n")[0].rstrip("\r"))
    return None if match is None else Marker(kind=match[1], sequence=int(match[2]))
