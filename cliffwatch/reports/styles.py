"""Colours of a terminal, few and by meaning."""

import re
from dataclasses import dataclass

_CODES = {"strong": "1", "quiet": "2", "worse": "1;31", "better": "1;32", "doubt": "33"}
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]")


@dataclass(frozen=True, slots=True)
class Styles:
    """Gives a text its style, or leaves it as it is."""

    colour: bool

    def __call__(self, style: str | None, text: str) -> str:
        if not self.colour or style is None or not text:
            return text
        return f"\x1b[{_CODES[style]}m{text}\x1b[0m"


def plain(text: str) -> str:
    """The text without what moves a terminal's cursor, colours it or turns its reading direction."""
    return _CONTROL.sub("?", text)
