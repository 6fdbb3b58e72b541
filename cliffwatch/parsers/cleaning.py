"""Removes what terminals, mail and web pages add to a pasted output. Never raises."""

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
    r"Iter\s|Summary:|SUMMARY\s|Setting up |Benchmark |cpu\d+|\d+:hash_map|RESULT |- |libbpf:|"
    r"[\w.-]+: median\s"
)
_PRINTED = re.compile(
    r"Iter\s+\d|Summary:|SUMMARY |Setting up benchmark '|Benchmark '|Benchmark[^\sa-z]\S*\s+\d+\s|"
    r"cpu\d+: lookup|\d+:hash_map|RESULT scen|goos: |goarch: |pkg: |cpu: |file_name,|PASS$|ok\s"
)
"""Text that only programs print, never the kernel: a time stamp before it comes from a log."""

_LINE_END = re.compile(r"\r\n|\n|\r")


class Line(NamedTuple):
    """A cleaned line."""

    number: int
    """The line's number in the original text, from 1."""
    text: str


def clean_lines(text: str) -> list[Line]:
    """Returns the lines of a text without quoting, colours, odd blanks and kernel messages.

    If guest and console share a line, a kernel message may interrupt it. The text before the message is then
    joined with the next line, unless that line starts a new output line.
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
    """True if a line begins like a line of bench."""
    return _STARTS.match(text.strip()) is not None


def is_plain(text: str) -> bool:
    """True if a text needs no cleaning, as most files. Checks the whole text at once, which is fast."""
    if not text.isascii() or "\n>" in text or "\n >" in text or text.startswith((">", " >")):
        return False
    content = text.encode()
    if len(content.translate(None, _CONTROL)) < len(content):
        return False
    return "[" not in text or not _KERNEL_STAMP.search(text)


def clean_name(text: str) -> str:
    """Replaces control characters in a name, so that it fits on one line of a document."""
    return _CONTROL_CHARACTER.sub("?", text)


def _plain(raw: str) -> str:
    text = _INVISIBLE.sub("", _ANSI.sub("", raw))
    return _QUOTE.sub("", _BLANKS.sub(" ", text)).rstrip()
