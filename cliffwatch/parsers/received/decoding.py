"""Decodes bytes as UTF-8, UTF-16 or UTF-32, with or without a byte order mark, or else as Windows-1252.

Never raises.
"""

import codecs
from collections.abc import Sequence

_MARKS: Sequence[tuple[bytes, str]] = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
"""UTF-32 comes first, because its little-endian mark begins with that of UTF-16."""

_LOOKED_AT = 4096
_MANY = 0.4


def decode(content: bytes) -> str:
    """Decodes bytes and drops the byte order mark."""
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            return _decode_bytes(content[len(mark) :], encoding)
    return _decode_bytes(content, _detect_encoding(content[:_LOOKED_AT]))


def _decode_bytes(content: bytes, encoding: str) -> str:
    if encoding != "utf-8":
        return content.decode(encoding, errors="replace")
    try:
        return content.decode()
    except UnicodeDecodeError:
        # A log may mix encodings: one program prints UTF-8, another one Latin-1.
        return "\n".join(map(_line, content.split(b"\n")))


def _line(line: bytes) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError:
        return line.decode("cp1252", errors="replace")


def _detect_encoding(begin: bytes) -> str:
    """Detects the encoding from the zero bytes between the letters of a mostly ASCII text."""
    zeros = [begin[place::4].count(0) * 4 > _MANY * len(begin) for place in range(4)]
    if len(begin) < 4 or not any(zeros):
        return "utf-8"
    return _BY_ZEROS.get("".join("0" if zero else "a" for zero in zeros), "utf-8")


_BY_ZEROS = {
    "a0a0": "utf-16-le",
    "0a0a": "utf-16-be",
    "a000": "utf-32-le",
    "000a": "utf-32-be",
}
