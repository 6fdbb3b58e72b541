"""Styles of terminal output by meaning, and removal of control characters."""

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
    """Applies a style to a text, or leaves the text plain if `colour` is False."""

    colour: bool

    def __call__(self, style: str | None, text: str) -> str:
        if not self.colour or style is None or not text:
            return text
        return f"\x1b[{_CODES[style]}m{text}\x1b[0m"


def plain(text: str) -> str:
    """Replaces characters of a line that move the cursor, set colours or change the reading direction."""
    return text if text.isascii() and text.isprintable() else _CONTROL.sub("?", text)


def visible(text: str) -> str:
    """Replaces control characters and characters that change the reading direction.

    Keeps line breaks and tabs.

    Applied to whole finished reports, so that it catches every value from a tree or a host.
    """
    if len(text) > _LONG and not _has_unseen(text):
        return text
    return _UNSEEN.sub("?", text)


def _has_unseen(text: str) -> bool:
    """Looks characters up in a table. The regular expression takes ten times as long for a page of 3 MB."""
    import numpy as np  # noqa: PLC0415 - as long to load as all the rest of a command's help, and only long texts need it

    units = np.frombuffer(text.encode("utf-16-le", "surrogatepass"), dtype="<u2")
    return bool(_table()[units].any())


@cache
def _table() -> "NDArray[bool_]":
    """Tells for each UTF-16 unit whether it is an unseen character, or the first half of one."""
    import numpy as np  # noqa: PLC0415 - as above

    known = [bool(_UNSEEN.match(chr(unit))) for unit in range(1 << 16)]
    known[0xDB40:0xDB44] = [True] * 4
    return np.array(known)
