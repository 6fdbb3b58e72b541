"""Suggests the name that a misspelt one was meant to be."""

import difflib
from collections.abc import Iterable

_LONGEST = 60
"""Characters of a name that are compared: the time grows with their square, and anybody may write it."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`; did you mean 'local-storage'?` if a known name is close, else an empty text."""
    close = difflib.get_close_matches(name[:_LONGEST], list(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""
