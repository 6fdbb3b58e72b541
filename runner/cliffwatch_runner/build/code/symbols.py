"""Reads the symbols of a kernel from its System.map: code, data and per-CPU variables."""

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

LARGEST_MAP_BYTES = 128 << 20
_LINE = re.compile(rb"^([0-9a-f]{16}) [A-Za-z] ([!-~]{1,190})$", re.MULTILINE)
_BOUND = re.compile(
    r"^(__start_|__stop_|__end_)|(_start|_end|_begin)$|^_(text|etext|data|sdata|edata|end|sinittext|einittext)$"
)
_END = re.compile(r"^(__stop_|__end_)|_end$|^_e?end$")
_BOUNDS = (
    *("__start_rodata", "__end_rodata", "_stext", "_etext", "_sinittext", "_einittext"),
    *("__initcall_start", "__initcall_end"),
)
_NO_NAME = re.compile(rb"^(__pfx_|__cfi_|_stext$|_sinittext$|_text$|__[a-z_]*text(_start|_end)$|\.L)")


def _preference(name: str) -> tuple[bool, bool, str]:
    return is_bound(name), name.startswith("_"), name


@dataclass(frozen=True, slots=True)
class Names:
    """Symbols of a kernel, ordered by address, one per address."""

    addresses: tuple[int, ...]
    names: tuple[str, ...]
    rodata: tuple[int, int]
    """Bounds of the constants."""
    texts: tuple[tuple[int, int], ...]
    """Bounds of permanent code and of code that runs only at boot."""
    initcalls: tuple[int, int] = (0, 0)
    """Bounds of the table of functions that the kernel calls at its start."""
    btf_ids: frozenset[int] = frozenset()
    """Addresses of BTF type ids, which change with any type."""
    ends: frozenset[int] = frozenset()
    """Addresses at which something ends. A symbol that begins there does so by chance."""

    def is_code(self, address: int) -> bool:
        return any(start <= address < end for start, end in self.texts)

    def functions(self) -> Iterator[tuple[str, int, int]]:
        """Yields each function with its start and end."""
        for start, end in self.texts:
            first, last = bisect_left(self.addresses, start), bisect_left(self.addresses, end)
            for place in range(first, last):
                following = self.addresses[place + 1] if place + 1 < last else end
                yield self.names[place], self.addresses[place], following

    def at(self, address: int) -> tuple[str, int, int] | None:
        """Returns the symbol of an address, the offset in it, and the bytes from it to the next symbol.

        Returns None before the first symbol.
        """
        place = bisect_right(self.addresses, address) - 1
        if place < 0:
            return None
        start = self.addresses[place]
        end = self.addresses[place + 1] if place + 1 < len(self.addresses) else start
        return self.names[place], address - start, end - start


def is_bound(name: str) -> bool:
    """True if a symbol only marks where something begins or ends."""
    return _BOUND.search(name) is not None


def read_names(system_map: bytes) -> Names:
    """Reads the symbols of a System.map.

    If symbols share an address, the alphabetically first wins that is not a bound and has no leading
    underscore. If symbols share a name, all but the first have `@` and an ordinal appended.
    """
    at: dict[int, str] = {}
    bounds: dict[str, int] = {}
    btf_ids: set[int] = set()
    ends: set[int] = set()
    for match in _LINE.finditer(system_map):
        address, name = int(match[1], 16), match[2].decode()
        if name in _BOUNDS:
            bounds[name] = address
        if _END.search(name):
            ends.add(address)
        if name.startswith("__BTF_ID__"):
            btf_ids.add(address)
        if not _NO_NAME.match(match[2]):
            at[address] = min(at.get(address, name), name, key=_preference)
    ordinals: defaultdict[str, int] = defaultdict(int)
    addresses = sorted(at)
    names: list[str] = []
    for address in addresses:
        ordinals[at[address]] += 1
        which = ordinals[at[address]]
        names.append(at[address] if which == 1 else f"{at[address]}@{which}")
    return Names(
        addresses=tuple(addresses),
        names=tuple(names),
        rodata=(bounds.get("__start_rodata", 0), bounds.get("__end_rodata", 0)),
        initcalls=(bounds.get("__initcall_start", 0), bounds.get("__initcall_end", 0)),
        btf_ids=frozenset(btf_ids),
        ends=frozenset(ends),
        texts=tuple(
            (bounds.get(start, 0), bounds.get(end, 0))
            for start, end in (("_stext", "_etext"), ("_sinittext", "_einittext"))
        ),
    )
