"""The hidden first line by which a comment of ours is found again: what it is, and which state it shows."""

import re
from dataclasses import dataclass

_LINE = re.compile(r"<!-- cliffwatch ([A-Za-z0-9:._-]{1,100}) (\d{1,18}) -->")


@dataclass(frozen=True, slots=True, kw_only=True)
class Marker:
    """`kind` is the same for all comments of which a pull request has one; `sequence` grows with what they
    show.
    """

    kind: str
    sequence: int

    def __str__(self) -> str:
        return f"<!-- cliffwatch {self.kind} {self.sequence} -->"


def read_marker(body: str) -> Marker | None:
    """The marker of a comment; only its first line may be one."""
    match = _LINE.fullmatch(body.lstrip("\r\n").partition("\n")[0].rstrip("\r"))
    return None if match is None else Marker(kind=match[1], sequence=int(match[2]))
