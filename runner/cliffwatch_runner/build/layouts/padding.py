"""Padding between the objects of a kernel: what a seed puts where, and the objects that hold it.

A function's address depends on what is linked before it. Padding of random size between the objects gives
each object a random address, in steps of the 16 bytes that functions are aligned to. It leaves the code and
its order alone, so initcalls run in the same order.
"""

import random
import re
import struct
from collections.abc import Iterator, Sequence

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


def pad_object(size: int) -> bytes:
    """Returns an ELF object for x86-64 whose text is `size` bytes of `int3`, without a symbol."""
    names = b"\0.text\0.note.GNU-stack\0.shstrtab\0"
    text = b"\xcc" * size
    start = 64 + len(text) + len(names)
    padding = -start % 8
    header = struct.pack(
        "<16sHHIQQQIHHHHHH",
        b"\x7fELF\x02\x01\x01" + bytes(9),
        *(1, 62, 1, 0, 0, start + padding, 0, 64, 0, 0, 64, 4, 3),
    )
    sections = (
        bytes(64),
        _section(1, 1, 6, 64, len(text), ALIGNMENT),
        _section(7, 1, 0, 64 + len(text), 0, 1),
        _section(23, 3, 0, 64 + len(text), len(names), 1),
    )
    return b"".join((header, text, names, bytes(padding), *sections))


def _section(name: int, kind: int, flags: int, offset: int, size: int, alignment: int) -> bytes:
    return struct.pack("<IIQQQQIIQQ", name, kind, flags, 0, offset, size, 0, 0, alignment, 0)
