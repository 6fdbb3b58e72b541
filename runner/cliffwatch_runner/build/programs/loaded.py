"""What of a program is loaded when it runs, as a digest: debug information and build IDs differ between programs that run alike."""

import hashlib
import struct
from collections.abc import Iterator

_HEADER = struct.Struct("<16xHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_ALLOCATED = 2
_NOTE, _NO_BITS = 7, 8
_LITTLE_ENDIAN_64 = b"\x7fELF\x02\x01"


def loaded_digest(program: bytes) -> str:
    """Of the sections of an ELF file that are loaded, notes aside; of the whole file where it is none, or its sections lie outside it."""
    digest = hashlib.sha256()
    try:
        parts = list(_loaded(program))
    except (struct.error, ValueError):
        parts = [program]
    for part in parts or [program]:
        digest.update(struct.pack("<Q", len(part)) + part)
    return digest.hexdigest()


def _loaded(program: bytes) -> Iterator[bytes]:
    if not program.startswith(_LITTLE_ENDIAN_64):
        raise ValueError("no ELF file of 64 bits")
    _, machine, _, entry, _, sections, _, _, _, _, size, count, _ = _HEADER.unpack_from(program)
    yield struct.pack("<HQ", machine, entry)
    for place in range(count):
        _, kind, flags, address, offset, length, *_ = _SECTION.unpack_from(program, sections + place * size)
        if not flags & _ALLOCATED or kind == _NOTE:
            continue
        yield struct.pack("<IQQQ", kind, flags, address, length)
        if kind == _NO_BITS:
            continue
        if offset + length > len(program):
            raise ValueError("a section lies outside the file")
        yield program[offset : offset + length]
