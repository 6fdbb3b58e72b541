"""The names of a kernel's memory, from its System.map: code, data and variables of each CPU."""

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
    """Symbols in the order of their addresses, one for each. `rodata` are the bounds of constants, `texts`
    those of code: what stays, and what runs at boot alone; `initcalls` those of the table of what the
    kernel calls as it starts. At `btf_ids` lie numbers of types, which any other type changes; at `ends`
    something ends, and what begins there does so by chance.
    """

    addresses: tuple[int, ...]
    names: tuple[str, ...]
    rodata: tuple[int, int]
    texts: tuple[tuple[int, int], ...]
    initcalls: tuple[int, int] = (0, 0)
    btf_ids: frozenset[int] = frozenset()
    ends: frozenset[int] = frozenset()

    def is_code(self, address: int) -> bool:
        return any(start <= address < end for start, end in self.texts)

    def functions(self) -> Iterator[tuple[str, int, int]]:
        """Each function with where it begins and ends."""
        for start, end in self.texts:
            first, last = bisect_left(self.addresses, start), bisect_left(self.addresses, end)
            for place in range(first, last):
                following = self.addresses[place + 1] if place + 1 < last else end
                yield self.names[place], self.addresses[place], following

    def at(self, address: int) -> tuple[str, int, int] | None:
        """The symbol that an address belongs to, how far it lies behind it, and the bytes until the next one;
        None before the first.
        """
        place = bisect_right(self.addresses, address) - 1
        if place < 0:
            return None
        start = self.addresses[place]
        end = self.addresses[place + 1] if place + 1 < len(self.addresses) else start
        return self.names[place], address - start, end - start


def is_bound(name: str) -> bool:
    """Whether a symbol says where something begins or ends, and is nothing itself."""
    return _BOUND.search(name) is not None


def read_names(system_map: bytes) -> Names:
    """Of symbols at one address the first in the alphabet that is no bound and has no underscore in front;
    symbols of one name have `@` and their ordinal, but for the first.
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
