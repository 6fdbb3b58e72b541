"""Patterns of lines, written like the text that bench prints."""

import re
from collections.abc import Iterator

NUMBER = r"(?:-?(?:\d+(?:\.\d*)?|inf|nan))"
_PLUS_MINUS = r"(?:±|\+/-|\+-|Â±|┬▒|ñ|\?|\ufffd{1,2})"
"""Includes what ± becomes when it is decoded with the wrong code page, or encoded in one that lacks it."""

_PART = re.compile(
    r"(?P<place>\{(?P<name>\w{0,20})(?::(?P<inside>[^{}]*))?\})|(?P<blank> )|(?P<sign>[\[\]±])|[^{ \[\]±]+"
)
_WORD_ENDS = re.compile(r"\w$").search
_WORD_BEGINS = re.compile(r"[\w{]").match


def line_pattern(text: str) -> str:
    r"""Builds the regular expression of a line, anchored at its end.

    - `{hits}`: a number, as the field `hits`; `{}`: a number that is not read.
    - `{cpu:\d+}`: what matches the expression, as a field if there is a name.
    - `[…]`: may be missing.
    - A blank matches blanks loosely, because mail and web pages change them.
    """
    return "".join(_parts(text)) + r"\s*$"


def _parts(text: str) -> Iterator[str]:
    for part in _PART.finditer(text):
        name, inside = part["name"], part["inside"] or NUMBER
        if part["place"]:
            yield f"(?P<{name}>{inside})" if name else f"(?:{inside})"
        elif part["blank"]:
            between_words = _WORD_ENDS(text[: part.start()]) and _WORD_BEGINS(text[part.end() :])
            yield r"\s+" if between_words else r"\s*"
        elif part["sign"]:
            yield {"[": "(?:", "]": ")?", "±": _PLUS_MINUS}[part["sign"]]
        else:
            yield re.escape(part[0])
