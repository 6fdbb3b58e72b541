"""Reads and replaces sections of BPF object files: ELF, 64 bits, little-endian."""

import struct
from dataclasses import dataclass

_IDENTITY = b"\x7fELF\x02\x01"
_BPF = 247
_HEADER_BYTES = 64
_NO_CONTENT = 8
"""SHT_NOBITS: a section without bytes in the file."""

NOT_AN_OBJECT = "it is no BPF object (ELF, 64 bits, little-endian)"


@dataclass(frozen=True, slots=True)
class Section:
    """A section of an object file. Offsets and sizes are in bytes."""

    name: str
    header: int
    """Offset of its entry in the section table."""
    offset: int
    size: int


def sections_of(content: bytes) -> dict[str, Section]:
    """Returns the sections that have content, by name.

    Raises ValueError if the file is not a BPF object or is damaged.
    """
    if not content.startswith(_IDENTITY) or len(content) < _HEADER_BYTES:
        raise ValueError(NOT_AN_OBJECT)
    try:
        if struct.unpack_from("<H", content, 18)[0] != _BPF:
            raise ValueError(NOT_AN_OBJECT)
        (table,) = struct.unpack_from("<Q", content, 0x28)
        each, count, names = struct.unpack_from("<HHH", content, 0x3A)
        headers = [table + number * each for number in range(count)]
        strings = struct.unpack_from("<Q", content, headers[names] + 24)[0]
        found: dict[str, Section] = {}
        for header in headers:
            name, kind = struct.unpack_from("<II", content, header)
            offset, size = struct.unpack_from("<QQ", content, header + 24)
            if kind == _NO_CONTENT or size == 0:
                continue
            if offset + size > len(content):
                raise ValueError("it is cut off")
            start = strings + name
            text = content[start : content.index(b"\0", start)].decode(errors="replace")
            found.setdefault(text, Section(text, header, offset, size))
    except (struct.error, IndexError) as error:
        raise ValueError("its section table is damaged") from error
    return found


def bytes_of(content: bytes, section: Section) -> bytes:
    return content[section.offset : section.offset + section.size]


def with_section(content: bytes, section: Section, replacement: bytes) -> bytes:
    """Returns the file with another content of a section.

    A longer or shorter one goes to the end of the file; nothing else moves.
    """
    changed = bytearray(content)
    if len(replacement) == section.size:
        changed[section.offset : section.offset + section.size] = replacement
        return bytes(changed)
    changed += bytes(-len(changed) % 8)
    struct.pack_into("<QQ", changed, section.header + 24, len(changed), len(replacement))
    return bytes(changed + replacement)
