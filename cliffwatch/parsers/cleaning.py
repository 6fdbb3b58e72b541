"""Undoes what terminals, mail and web pages do to a pasted output. Total."""

import re
from typing import NamedTuple

_ANSI = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[_P^X][^\x07\x1b]*(?:\x07|\x1b\\)?|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])"
)
_BLANKS = re.compile("[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]")
_INVISIBLE = re.compile("[\u200b-\u200d\u2060\ufeff\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_CONTROL_CHARACTER = re.compile("[\x00-\x1f\x7f-\x9f]")
_CONTROL = bytes({*range(32), 127} - set(b"\t\n"))
_QUOTE = re.compile(r"^(?:\s?>)+ ?")
_KERNEL_STAMP = re.compile(r"(?:<\d{1,3}>)?\[\s*\d{1,7}\.\d{6}\](?:\[[^\]]{1,8}\])? ")
_STARTS = re.compile(
    r"Iter\s|Summary:|SUMMARY\s|Setting up |Benchmark |cpu\d+|\d+:hash_map|RESULT |- |libbpf:|[\w.-]+:"
    r" median\s"
)
_PRINTED = re.compile(
    r"Iter\s+\d|Summary:|SUMMARY |Setting up benchmark '|Benchmark '|Benchmark[^\sa-z]\S*\s+\d+\s|cpu\d+:"
    r" lookup|\d+:hash_map|RESULT scen|"
    r"goos: |goarch: |pkg: |cpu: |file_name,|PASS$|ok\s"
)
"""What programs print and no kernel: a stamp before it is that of a log."""

_LINE_END = re.compile(r"\r\n|\n|\r")


class Line(NamedTuple):
    """A cleaned line with its number in the text as it came, counted from 1."""

    number: int
    text: str


def clean_lines(text: str) -> list[Line]:
    """The lines of a text without quoting, colour, odd blanks and kernel messages.

    A kernel message may begin in the middle of a line, when guest and console share one; what stood before
    it is joined with what follows, unless the next line begins something of its own.
    """
    if is_plain(text):
        return [Line(number, raw.rstrip()) for number, raw in enumerate(text.split("\n"), start=1)]
    lines: list[Line] = []
    broken: Line | None = None
    for number, raw in enumerate(_LINE_END.split(text), start=1):
        plain = _plain(raw)
        stamp = _KERNEL_STAMP.search(plain)
        if stamp and _PRINTED.match(plain, stamp.end()):
            plain, stamp = plain[: stamp.start()] + plain[stamp.end() :], None
        head = plain[: stamp.start()] if stamp else plain
        if stamp and not head.strip():
            continue
        if broken is not None:
            if _STARTS.match(head):
                lines.append(broken)
                current = Line(number, head)
            else:
                current = Line(broken.number, broken.text + head)
            broken = None
        else:
            current = Line(number, head)
        if stamp:
            broken = current
        else:
            lines.append(current)
    return [*lines, broken] if broken is not None else lines


def begins_output(text: str) -> bool:
    """Whether a line begins as those of bench do."""
    return _STARTS.match(text.strip()) is not None


def is_plain(text: str) -> bool:
    """Whether nothing asks for cleaning, as in most files; asked of the whole text at once,
    which is quick.
    """
    if not text.isascii() or "\n>" in text or "\n >" in text or text.startswith((">", " >")):
        return False
    content = text.encode()
    if len(content.translate(None, _CONTROL)) < len(content):
        return False
    return "[" not in text or not _KERNEL_STAMP.search(text)


def name_of(text: str) -> str:
    """A name that a program gave something, in one line: documents take no other."""
    return _CONTROL_CHARACTER.sub("?", text)


def _plain(raw: str) -> str:
    text = _INVISIBLE.sub("", _ANSI.sub("", raw))
    return _QUOTE.sub("", _BLANKS.sub(" ", text)).rstrip()
