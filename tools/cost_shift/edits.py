"""An edit of a kernel's source: what it does to the text, which functions it is about, and where it shows."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from cost_shift.source import Files

Expected = Literal["moved", "slower"]


@dataclass(frozen=True)
class Edit:
    name: str
    """Of its arm: a letter and a number."""
    kind: str
    """What is done, in words."""
    expected: Expected
    functions: tuple[str, ...]
    """Those that a report has to name: of a move all, of a cost any (its function, or one that it is inlined into)."""
    suite: str
    case: str
    """Pattern of the cases that execute it."""
    files: Files
    """The edited files."""


@dataclass(frozen=True)
class Place:
    """A function, the file that defines it, and the cases whose operations execute it."""

    path: str
    function: str
    suite: str
    case: str
    inlined_into: tuple[str, ...] = ()
    """The functions that execute it in the base kernel."""


Change = Callable[[Files, Place], Files]
"""Returns the edited files. Raises Absent if the tree has not what it looks for."""
