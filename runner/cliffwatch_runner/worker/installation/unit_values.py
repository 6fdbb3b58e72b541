"""Values as systemd reads them in units: blanks, quotes, `%` and `$` mean something there (systemd.syntax(7), systemd.service(5))."""

import re
from collections.abc import Iterable

_PLAIN = re.compile(r"[\w/.:=+@,-]+", re.ASCII)


def unit_word(value: object) -> str:
    """One word of a setting or a command. Raises ValueError for what no unit can hold, which is checked before."""
    text = str(value)
    if not text.isprintable():
        raise ValueError(f"{text!a} is no word of a unit")
    escaped = text.replace("%", "%%")
    if _PLAIN.fullmatch(escaped):
        return escaped
    return '"' + escaped.replace("\\", "\\\\").replace('"', '\\"') + '"'


def command_words(words: Iterable[object]) -> str:
    """A command: as words, and no `$` in it is a variable."""
    return " ".join(unit_word(str(word).replace("$", "$$")) for word in words)
