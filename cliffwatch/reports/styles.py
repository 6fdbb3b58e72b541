"""Colours of a terminal, few and by meaning."""

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy import bool_
    from numpy.typing import NDArray

_CODES = {"strong": "1", "quiet": "2", "worse": "1;31", "better": "1;32", "doubt": "33"}
_CONTROL = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
_UNSEEN = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff]"
)


_LONG = 10_000


@dataclass(frozen=True, slots=True)
class Styles:
    """Gives a text its style, or leaves it as it is."""

    colour: bool

    def __call__(self, style: str | None, text: str) -> str:
        if not self.colour or style is None or not text:
            return text
        return f"\x1b[{_CODES[style]}m{text}\x1b[0m"


def plain(text: str) -> str:
    """A line without what moves a terminal's cursor, colours it or turns its reading direction."""
    return text if text.isascii() and text.isprintable() else _CONTROL.sub("?", text)


def visible(text: str) -> str:
    """Lines of which nothing is but what a reader sees: no control character, none that turns the reading
    direction.

    Reports pass through it whole, once they are written, so that no value of a tree or a host can get by.
    """
    if len(text) > _LONG and not _has_unseen(text):
        return text
    return _UNSEEN.sub("?", text)


def _has_unseen(text: str) -> bool:
    """By a table instead of the expression, which takes ten times as long for a page of three megabytes."""
    import numpy as np  # noqa: PLC0415 - as long to load as all the rest of a command's help, and only long texts need it

    units = np.frombuffer(text.encode("utf-16-le", "surrogatepass"), dtype="<u2")
    return bool(_table()[units].any())


@cache
def _table() -> "NDArray[bool_]":
    """For each unit of UTF-16 whether it is one of these characters, or begins one."""
    import numpy as np  # noqa: PLC0415 - as above

    known = [bool(_UNSEEN.match(chr(unit))) for unit in range(1 << 16)]
    known[0xDB40:0xDB44] = [True] * 4
    return np.array(known)
