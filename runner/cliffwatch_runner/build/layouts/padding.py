"""Padding between the objects of a kernel: what a seed puts where, and the objects that hold it.

A function's address depends on what is linked before it. Padding of random size between the objects gives
each object a random address, in steps of the 16 bytes that functions are aligned to. It leaves the code and
its order alone, so initcalls run in the same order.
"""

import random
import re
import struct
from collections.abc import Iterator, Mapping, Sequence

from cliffwatch.failure import Failure, kernel_failed

ALIGNMENT = 16
PAGE = 4096
SIZES = range(ALIGNMENT, PAGE, ALIGNMENT)
"""Sizes of padding, in bytes."""

_SHORT = 16
"""Most objects are moved by fewer than this many alignments, so that the text grows by few per cent."""
_LONG_EVERY = 16
"""One object in so many is moved by up to a page: fewer objects apart, two functions have any distance."""

_MOST_MEMBERS = 100_000
_MEMBER = re.compile(r"[A-Za-z0-9_.,+/-]{1,500}\.o")


def parse_members(listed: str) -> tuple[str, ...] | Failure:
    """Returns the objects of `ar t vmlinux.a`. The listing is the tree's: other names than paths fail."""
    members = tuple(listed.split("\n")[:-1])
    if len(members) > _MOST_MEMBERS or not all(map(_MEMBER.fullmatch, members)):
        return kernel_failed("its vmlinux.a has members that are no objects", _NEXT_STEP)
    if len(members) < 2:
        return kernel_failed("its vmlinux.a has no objects to move", _NEXT_STEP)
    return members


_NEXT_STEP = "measure it in one layout: --layouts 1"


def padded_members(members: Sequence[str], seed: int, pad: str) -> Iterator[str]:
    """Yields the members with padding between them.

    `pad` is the path of an object of padding, with {} for its size. The first object stays first: it is where
    the kernel begins.
    """
    draw = random.Random(f"layout {seed}")  # noqa: S311  # repeatable, not secret
    for number, member in enumerate(members):
        size = ALIGNMENT * draw.randrange(PAGE // ALIGNMENT if number % _LONG_EVERY == 1 else _SHORT)
        if number and size:
            yield pad.format(size)
        yield member


def pad_object(sections: Mapping[str, int], alignment: int = ALIGNMENT) -> bytes:
    """Returns an ELF object for x86-64 without a symbol. Its sections of code have these sizes, of `int3`."""
    names = b"\0" + b"".join(name.encode() + b"\0" for name in (*sections, _NO_STACK, _NAMES))
    text = b"".join(b"\xcc" * size for size in sections.values())
    start = 64 + len(text) + len(names)
    padding = -start % 8
    count = len(sections) + 3
    header = struct.pack(
        "<16sHHIQQQIHHHHHH",
        b"\x7fELF\x02\x01\x01" + bytes(9),
        *(1, 62, 1, 0, 0, start + padding, 0, 64, 0, 0, 64, count, count - 1),
    )
    table, offset = [bytes(64)], 64
    for name, size in sections.items():
        table.append(_section(names, name, 1, 6, offset, size, alignment))
        offset += size
    table.append(_section(names, _NO_STACK, 1, 0, offset, 0, 1))
    table.append(_section(names, _NAMES, 3, 0, offset, len(names), 1))
    return b"".join((header, text, names, bytes(padding), *table))


_NO_STACK, _NAMES = ".note.GNU-stack", ".shstrtab"


def _section(names: bytes, name: str, kind: int, flags: int, offset: int, size: int, alignment: int) -> bytes:
    at = names.index(b"\0" + name.encode() + b"\0") + 1
    return struct.pack("<IIQQQQIIQQ", at, kind, flags, 0, offset, size, 0, 0, alignment, 0)
