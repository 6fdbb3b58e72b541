"""Headings in the text around outputs: they name the side of a comparison, or set two outputs of one name
apart.
"""

import re
from collections.abc import Iterable
from typing import Literal

Side = Literal["base", "head", ""]

LONGEST_TITLE = 80
_LONGEST = 120
_CHANGE = r"(?:the |this |these )?(?:patch|patches|patchset|patchsets|change|changes|series|fix)"
_BASE = rf"(?P<base>before|baseline|base|unpatched|vanilla|(?:without|w/o) {_CHANGE})"
_HEAD = rf"(?P<head>after|patched|(?:with|w/) {_CHANGE})"
_OF_LINE = re.compile(
    rf"[#*>\s-]{{0,8}}(?:and )?(?:{_BASE}|{_HEAD})(?:[-_]\w{{1,20}})?\b"
    r"(?:[*:\s=-]{0,8}|\s?[(\x5b][^()]{0,60}[)\x5d][*:\s=-]{0,8}|[^.:]{0,50}:)",
    re.IGNORECASE,
)
"""`Before:`, `## Baseline`, `BEFORE (latest tip)`, `After applying the series:`"""

_OF_PARAGRAPH = re.compile(rf"[.;] (?:and )?(?:{_BASE}|{_HEAD})\b[^.:]{{0,50}}:\Z", re.IGNORECASE)
"""The end of `It is slow. Before this patch, the rate is:`"""

_IN_BRACKETS = re.compile(r"[^.:()]{1,60}\((?:(?P<base>before)|(?P<head>after))\):?", re.IGNORECASE)
"""`htab-mem (before):`"""

_HINT = re.compile("before|after|base|patch|with|vanilla|w/", re.IGNORECASE)
_LETTER = re.compile(r"[^\W\d_]")
_ORDINALS = re.compile(
    r"\b(?:\d+(?:st|nd|rd|th)|first|second|third|fourth|fifth|another|again|one more)\b",
    re.IGNORECASE,
)
_COUNTED = re.compile(
    r"\b(?:runs?|rounds?|iterations?|trials?|try|boots?|attempts?|pass|real|user|sys)\b|\d:\d\d|^\s{0,20}[$#\x5b]",
    re.IGNORECASE,
)
"""Lines whose numbers count repetitions or tell the time: `Run 2 of 5`, `real 0m7.1s`, a date, a prompt."""

_DIGITS = re.compile(r"\d+")


def side_of(text: str) -> Side:
    """Recognises a line such as `Before:`, `After (with the lock):` or `BASELINE (bpf-next)`.

    Empty if the line is anything else, such as a sentence that begins with these words.
    """
    if _HINT.search(text) is None or len(stripped := text.strip()) > _LONGEST:
        return ""
    found = _OF_LINE.fullmatch(stripped) or _OF_PARAGRAPH.search(stripped) or _IN_BRACKETS.fullmatch(stripped)
    if found is None:
        return ""
    return "base" if found["base"] else "head"


def names_both_sides(sides: Iterable[str]) -> bool:
    return {"base", "head"} <= set(sides)


class Headings:
    """The headings that hold at a place of the text."""

    def __init__(self) -> None:
        self.side: Side = ""
        self._above = self._alone = self._said = ""
        self._before = ("", "")

    @property
    def above(self) -> str:
        """The last line that is neither a result nor a parameter nor a title nor names a side; cut."""
        return _title(self._above)

    @property
    def alone(self) -> str:
        """The last such line that ends with a colon or is a paragraph of its own; cut."""
        return _title(self._alone)

    @property
    def said(self) -> str:
        """The last line that names a side; cut."""
        return _title(self._said)

    def see(self, text: str, *, alone: bool) -> bool:
        """Takes in a line that is no result. True if it names a side."""
        if _LETTER.search(text) is None:
            return False
        ends = text.rstrip().endswith(":")
        # Mail may have broken the sentence that ends with the heading.
        side = side_of(text) or (side_of(f"{self._above.strip()} {text.strip()}") if ends else "")
        if side:
            self.side, self._said = side, text
            return True
        self._before = self._above, self._alone
        self._above = text
        if alone or ends:
            self._alone = text
        return False

    def take_title(self) -> None:
        """Forgets the last line: it is an underlined title, which holds until the next one."""
        self._above, self._alone = self._before


def _title(text: str) -> str:
    return " ".join(text.split())[:LONGEST_TITLE]


def without_count(heading: str) -> str:
    """A heading without what counts repetitions. Other numbers stay, for they may be parameters."""
    kept = _ORDINALS.sub(" ", heading)
    return " ".join((_DIGITS.sub(" ", kept) if _COUNTED.search(kept) else kept).split()).rstrip(" :")
