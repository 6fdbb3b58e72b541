"""Quotes values for systemd units: blanks, quotes, `%` and `$` are special there.

See systemd.syntax(7) and systemd.service(5).
"""

import re
from collections.abc import Iterable

_PLAIN = re.compile(r"[\w/.:=+@,-]+", re.ASCII)


def unit_word(value: object) -> str:
    """Quotes one word of a setting or command.

    Raises ValueError for unprintable text, which callers must reject earlier.
    """
    text = str(value)
    if not text.isprintable():
        raise ValueError(f"{text!a} cannot be written into a unit")
    escaped = text.replace("%", "%%")
    if _PLAIN.fullmatch(escaped):
        return escaped
    return '"' + escaped.replace("\\", "\\\\").replace('"', '\\"') + '"'


def command_words(words: Iterable[object]) -> str:
    """Quotes a command. A `$` in it is not expanded."""
    return " ".join(unit_word(str(word).replace("$", "$$")) for word in words)
