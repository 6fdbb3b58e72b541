"""Digests the parts of a program that are loaded when it runs.

Debug information and build IDs may differ between programs that run alike.
"""

import hashlib
import struct
from collections.abc import Iterable, Iterator

_HEADER = struct.Struct("<16xHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_ALLOCATED = 2
_NOTE, _NO_BITS = 7, 8
_LITTLE_ENDIAN_64 = b"\x7fELF\x02\x01"


def loaded_digest(program: bytes) -> str:
    """Digests the loaded sections of an ELF file, except notes.

    Digests the whole file if it is not ELF, or if its sections overlap or lie outside the file.
    """
    whole = memoryview(program)
    try:
        return _digest(_iter_loaded(whole))
    except (struct.error, ValueError):
        return _digest([whole])


def _digest(parts: Iterable[bytes | memoryview]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(struct.pack("<Q", len(part)))
        digest.update(part)
    return digest.hexdigest()


def _iter_loaded(program: memoryview) -> Iterator[bytes | memoryview]:
    if program[: len(_LITTLE_ENDIAN_64)] != _LITTLE_ENDIAN_64:
        raise ValueError("no ELF file of 64 bits")
    _, machine, _, entry, _, sections, _, _, _, _, size, count, _ = _HEADER.unpack_from(program)
    yield struct.pack("<HQ", machine, entry)
    left = len(program)
    for place in range(count):
        _, kind, flags, address, offset, length, *_ = _SECTION.unpack_from(program, sections + place * size)
        if not flags & _ALLOCATED or kind == _NOTE:
            continue
        yield struct.pack("<IQQQ", kind, flags, address, length)
        if kind == _NO_BITS:
            continue
        left -= length
        if offset + length > len(program) or left < 0:
            raise ValueError("a section lies outside the file, or over another one")
        yield program[offset : offset + length]
