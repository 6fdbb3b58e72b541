"""Extracts the text of a mail: handles headers, parts, quoted-printable, base64 and format=flowed.

Only text parts are read. Of alternative forms of the same text, the plain one is read. Lines keep their
numbers if possible: a line that the mail wrapped stays where it began, and blank lines replace its other
pieces.
"""

import binascii
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from cliffwatch.parsers.cleaning import Line

_HEADER = re.compile(r"(?P<name>[A-Za-z][A-Za-z0-9-]{0,60}):(?:\s|$)(?P<value>.*)")
_PARAMETER = re.compile(r";\s*(?P<name>[\w-]{1,40})\*?=(?:\"(?P<quoted>[^\"]*)\"|(?P<plain>[^;\s]*))")
_OF_MIME = {"content-type", "content-transfer-encoding", "mime-version"}
_OF_MAIL = {"from", "to", "cc", "subject", "date", "message-id", "in-reply-to", "received", "delivered-to"}
_FROM = re.compile(r"From \S{1,300} .*\d{4}\s*$")
_TEXTS = (
    "application/octet-stream",
    "application/json",
    "application/csv",
    "application/x-log",
    "message/rfc822",
)
_CHARSET = re.compile(
    r"(?:utf-?(?:8|16)|us-ascii|iso-8859-\d{1,2}|windows-125\d|cp125\d|koi8-[ru]|gb\w{1,8}|big5)",
    re.IGNORECASE,
)
_SOFT_BREAK = re.compile(r"(?m)[^=\n]=\r?$")
_ENCODED = ("=C2=B1", "=3D", "=E2=80")
_MOST_HEADERS = 1000
_LONGEST_VALUE = 2000
_DEEPEST = 6
MOST_PARTS = 1000
"""The most parts within one part of a mail."""

MOST_CHARACTERS = 16 << 20
"""The largest text of a mail or mailbox."""


class MailTooLarge(Exception):
    """A mail exceeds a limit. The message says which limit, and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """A part of a mail."""

    headers: Mapping[str, str]
    """By name in lower case."""
    lines: Sequence[Line]
    """The body."""

    def header(self, name: str) -> str:
        return self.headers.get(name, "").partition(";")[0].strip().lower()

    def parameter(self, name: str) -> str:
        """Returns a parameter of the content type; empty if there is none."""
        value = self.headers.get("content-type", "")[:_LONGEST_VALUE]
        found = (each for each in _PARAMETER.finditer(value) if each["name"].lower() == name)
        return next((each["quoted"] or each["plain"] or "" for each in found), "")


def body_of_mail(text: str) -> str:
    """Extracts the text of a mail, of all mails of a mailbox, or of a piece of quoted-printable mail source.

    Other text is returned unchanged. Raises MailTooLarge, and nothing else.
    """
    if looks_like_mail(text):
        lines = [Line(number, line.rstrip("\r")) for number, line in enumerate(text.split("\n"), start=1)]
        return _join_placed(line for mail in _mails(lines) for line in _texts(_part_of(mail), 0))
    if any(each in text for each in _ENCODED) and _SOFT_BREAK.search(text):
        lines = [Line(number, line.rstrip("\r")) for number, line in enumerate(text.split("\n"), start=1)]
        return _join_placed(_decode_quoted_printable(lines, "utf-8"))
    return text


def looks_like_mail(text: str) -> bool:
    """True if the text begins with mail headers."""
    begin = text[: 1 << 16].lstrip("\r\n")
    lines = [line.rstrip("\r") for line in begin.split("\n")]
    if lines and _FROM.match(lines[0]):
        lines = lines[1:]
    if not lines or not _HEADER.match(lines[0]):
        return False
    names = set(_headers([Line(0, line) for line in lines])[0])
    return bool(names & _OF_MIME) or len(names & _OF_MAIL) > 1


def _join_placed(lines: Iterator[Line]) -> str:
    """Joins the lines, each at its number.

    If an earlier line already takes that place, it follows that line.
    """
    placed: list[str] = []
    size = 0
    for line in lines:
        size += len(line.text)
        if size > MOST_CHARACTERS:
            reason = (
                f"the mail has more than {MOST_CHARACTERS >> 20} MiB of text: "
                "save the part you mean and pass that"
            )
            raise MailTooLarge(reason)
        placed += [""] * (line.number - 1 - len(placed))
        placed.append(line.text)
    return "\n".join(placed) + "\n"


def _mails(lines: Sequence[Line]) -> Iterator[Sequence[Line]]:
    """Yields each mail of a mailbox. A `From ` line followed by headers begins a mail."""
    starts = [
        place
        for place, line in enumerate(lines[:-1])
        if line.text.startswith("From ") and _FROM.match(line.text) and _HEADER.match(lines[place + 1].text)
    ]
    if not starts:
        yield lines
    for first, last in zip(starts, [*starts[1:], len(lines)], strict=False):
        yield lines[first + 1 : last]


def _headers(lines: Sequence[Line]) -> tuple[dict[str, str], int]:
    """Returns the headers up to the first line that is not one, and the number of their lines."""
    headers: dict[str, str] = {}
    name = ""
    for count, line in enumerate(lines[:_MOST_HEADERS]):
        match = _HEADER.match(line.text)
        if match:
            name = match["name"].lower()
            headers[name] = match["value"][:_LONGEST_VALUE]
        elif line.text[:1] in (" ", "\t") and name:
            headers[name] = f"{headers[name]} {line.text.strip()}"[:_LONGEST_VALUE]
        else:
            return headers, count
    return headers, min(len(lines), _MOST_HEADERS)


def _part_of(lines: Sequence[Line]) -> _Part:
    blank = 0
    while blank < len(lines) and not lines[blank].text.strip():
        blank += 1
    headers, count = _headers(lines[blank:])
    return _Part(headers=headers, lines=lines[blank + count :])


def _texts(part: _Part, depth: int) -> Iterator[Line]:
    """Yields the lines of all text parts."""
    kind = part.header("content-type") or "text/plain"
    if kind.startswith("multipart/") and depth < _DEEPEST:
        parts = list(_parts(part))
        if kind == "multipart/alternative":
            plain = [each for each in parts if each.header("content-type") in ("", "text/plain")]
            parts = plain[:1] or parts
        for each in parts:
            yield from _texts(each, depth + 1)
    elif (kind.startswith("text/") and kind != "text/html") or kind in _TEXTS:
        lines = _decode_part(part)
        if kind == "message/rfc822" and depth < _DEEPEST:
            yield from _texts(_part_of(lines), depth + 1)
        else:
            yield from lines


def _parts(part: _Part) -> Iterator[_Part]:
    boundary = f"--{part.parameter('boundary')}"
    begun: int | None = None
    count = 0
    for place, line in enumerate(part.lines):
        if not line.text.startswith(boundary) or line.text.rstrip() not in (boundary, f"{boundary}--"):
            continue
        count += 1
        if count > MOST_PARTS:
            reason = f"the mail has more than {MOST_PARTS:,} parts: save the part you mean and pass that"
            raise MailTooLarge(reason)
        if begun is not None:
            yield _part_in(part.lines[begun:place])
        begun = place + 1
        if line.text.rstrip() != boundary:
            return
    if begun is not None:
        yield _part_in(part.lines[begun:])


def _part_in(lines: Sequence[Line]) -> _Part:
    """Splits a part into headers and body. A part without headers begins with a blank line."""
    headers, count = _headers(lines)
    return _Part(headers=headers, lines=lines[count + 1 :])


def _decode_part(part: _Part) -> list[Line]:
    encoding, charset = part.header("content-transfer-encoding"), part.parameter("charset")
    charset = charset if _CHARSET.fullmatch(charset) else "utf-8"
    lines = list(part.lines)
    if encoding == "base64":
        lines = _decode_base64(lines, charset)
    elif encoding == "quoted-printable":
        lines = list(_decode_quoted_printable(lines, charset))
    flowed = part.parameter("format").lower() == "flowed"
    return list(_join_flowed(lines, drop=part.parameter("delsp").lower() == "yes")) if flowed else lines


def _decode_base64(lines: Sequence[Line], charset: str) -> list[Line]:
    try:
        content = binascii.a2b_base64("".join(line.text.strip() for line in lines).encode(errors="replace"))
    except (binascii.Error, ValueError):
        return list(lines)
    first = lines[0].number if lines else 1
    text = content.decode(charset, errors="replace").removeprefix("\ufeff")
    return [Line(first + place, line.rstrip("\r")) for place, line in enumerate(text.split("\n"))]


def _decode_quoted_printable(lines: Sequence[Line], charset: str) -> Iterator[Line]:
    """Decodes quoted-printable: `=` at the end of a line joins it with the next, `=C2=B1` is a character."""
    pieces: list[str] = []
    number = 0
    for line in lines:
        number = number or line.number
        text = line.text.rstrip()
        soft = text.endswith("=")
        pieces.append(text[:-1] if soft else line.text)
        if not soft:
            yield Line(number, _characters("".join(pieces), charset))
            pieces, number = [], 0
    if pieces:
        yield Line(number, _characters("".join(pieces), charset))


def _characters(text: str, charset: str) -> str:
    if "=" not in text:
        return text
    return binascii.a2b_qp(text.encode(charset, errors="replace")).decode(charset, errors="replace")


def _join_flowed(lines: Sequence[Line], *, drop: bool) -> Iterator[Line]:
    """Joins format=flowed lines (RFC 3676).

    A line that ends in a blank continues on the next line, if that has the same depth of quoting.
    """
    pieces: list[str] = []
    number = depth = 0
    for line in lines:
        quoted = line.text.lstrip(">")
        here, content = len(line.text) - len(quoted), quoted.removeprefix(" ")
        if pieces and here != depth:
            yield Line(number, "".join(pieces))
            pieces = []
        if not pieces:
            number, depth = line.number, here
            pieces.append(">" * depth + (" " if depth else ""))
        flows = content.endswith(" ") and content != "-- "
        pieces.append(content[:-1] if flows and drop else content)
        if not flows:
            yield Line(number, "".join(pieces))
            pieces = []
    if pieces:
        yield Line(number, "".join(pieces))
