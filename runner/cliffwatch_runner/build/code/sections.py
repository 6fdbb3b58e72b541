"""Sizes of the sections of a kernel's image, from the bounds that its linker script puts into System.map."""

import re
from collections.abc import Mapping
from typing import Literal

from cliffwatch_runner.build.code.symbols import read_names

SectionName = Literal["text", "init text", "constants", "data", "bss"]

_BOUNDS: Mapping[SectionName, tuple[bytes, bytes]] = {
    "text": (b"_stext", b"_etext"),
    "init text": (b"_sinittext", b"_einittext"),
    "constants": (b"__start_rodata", b"__end_rodata"),
    "data": (b"_sdata", b"_edata"),
    "bss": (b"__bss_start", b"__bss_stop"),
}
_LINE = re.compile(
    rb"^([0-9a-f]{16}) [A-Za-z] (" + b"|".join(b for pair in _BOUNDS.values() for b in pair) + rb")$",
    re.MULTILINE,
)


_GAP = 64 << 10
"""Longer than any function: do_jit, the longest of linux 6.12, has 13 KiB."""


def section_sizes(system_map: bytes) -> Mapping[SectionName, int]:
    """Returns bytes by section, in order.

    A section is left out unless the map has each of its bounds exactly once.

    The linker pads code to the next 2 MiB. The size of text leaves out this gap, so that it shows changes.
    """
    places: dict[bytes, list[int]] = {}
    for address, name in _LINE.findall(system_map):
        places.setdefault(name, []).append(int(address, 16))
    sizes: dict[SectionName, int] = {}
    for section, (first, last) in _BOUNDS.items():
        start, end = places.get(first, []), places.get(last, [])
        if len(start) == len(end) == 1 and start[0] <= end[0]:
            sizes[section] = end[0] - start[0]
    if "text" in sizes:
        sizes["text"] = _of_functions(system_map, places[b"_stext"][0], places[b"_etext"][0])
    return sizes


def _of_functions(system_map: bytes, first: int, last: int) -> int:
    functions = (end - start for _, start, end in read_names(system_map).functions() if first <= start < last)
    return sum(size for size in functions if size < _GAP)
