"""Changes `max_entries` of maps in the BTF of an object.

libbpf reads a map from the type of its variable: `max_entries` is a pointer to an array of so many elements.
A changed map gets types of its own, as maps may share them.
"""

import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

_HEADER = "<HBBIIIII"
_MAGIC = 0xEB9F
_PTR, _ARRAY, _STRUCT, _VAR, _DATASEC = 2, 3, 4, 14, 15
_TRAILERS = {1: 4, _ARRAY: 12, _VAR: 4, 17: 4}
"""Bytes after a type's first 12, by kind: INT, ARRAY, VAR, DECL_TAG."""
_PER_MEMBER = {_STRUCT: 12, 5: 12, 6: 8, 13: 8, _DATASEC: 12, 19: 12}
"""Bytes of each member: STRUCT, UNION, ENUM, FUNC_PROTO, DATASEC, ENUM64."""
_MAX_ENTRIES = "max_entries"
_INT_KIND = 1
_ALIASES = (8, 9, 10)
"""TYPEDEF, VOLATILE, CONST."""


@dataclass(slots=True)
class _Types:
    """The types of a BTF section; type N starts at `starts[N - 1]`, an offset in `types`."""

    types: bytearray
    strings: bytearray
    starts: list[int]

    def kind(self, number: int) -> int:
        return (self.word(number, 1) >> 24) & 0x1F if number else 0

    def word(self, number: int, place: int) -> int:
        value: int = struct.unpack_from("<I", self.types, self.starts[number - 1] + 4 * place)[0]
        return value

    def members(self, number: int) -> Iterator[tuple[int, int, int]]:
        """Yields the three words of each member."""
        start = self.starts[number - 1] + 12
        for place in range(self.word(number, 1) & 0xFFFF):
            yield struct.unpack_from("<III", self.types, start + 12 * place)

    def name(self, offset: int) -> str:
        return self.strings[offset : self.strings.index(b"\0", offset)].decode(errors="replace")

    def add(self, *words: int) -> int:
        """Appends a type. Returns its number."""
        self.starts.append(len(self.types))
        self.types += struct.pack(f"<{len(words)}I", *words)
        return len(self.starts)

    def string(self, text: str) -> int:
        """Returns the offset of a string, which is appended if it is not there."""
        wanted = b"\0" + text.encode() + b"\0"
        if wanted not in self.strings:
            self.strings += wanted[1:]
        return self.strings.index(wanted) + 1


def map_sizes(btf: bytes) -> dict[str, int]:
    """Returns `max_entries` of each map of the object; 0 if the object leaves it open. Raises ValueError."""
    with _damage_told():
        types = _read(btf)
        return {name: _size(types, struct_) for name, (_, struct_) in _maps(types).items()}


def with_map_sizes(btf: bytes, sizes: Mapping[str, int]) -> bytes:
    """Returns the BTF section with other sizes. Raises ValueError, KeyError for a map that is not there."""
    with _damage_told():
        types = _read(btf)
        maps = _maps(types)
        for name, size in sizes.items():
            variable, struct_ = maps[name]
            _resize(types, variable, struct_, size)
    header = list(struct.unpack_from(_HEADER, btf))
    header[4:] = [0, len(types.types), len(types.types), len(types.strings)]
    start = btf[struct.calcsize(_HEADER) : header[3]]
    return struct.pack(_HEADER, *header) + start + bytes(types.types) + bytes(types.strings)


@contextmanager
def _damage_told() -> Iterator[None]:
    """Numbers that lead nowhere are damage of the file."""
    try:
        yield
    except (struct.error, IndexError) as error:
        raise ValueError("its BTF is damaged") from error


def _read(btf: bytes) -> _Types:
    magic, _, _, length, type_off, type_len, str_off, str_len = struct.unpack_from(_HEADER, btf)
    if magic != _MAGIC:
        raise ValueError("its BTF is not little-endian")
    types = bytearray(btf[length + type_off : length + type_off + type_len])
    read = _Types(types, bytearray(btf[length + str_off : length + str_off + str_len]), [])
    place = 0
    while place < len(types):
        (info,) = struct.unpack_from("<I", types, place + 4)
        kind, count = (info >> 24) & 0x1F, info & 0xFFFF
        read.starts.append(place)
        place += 12 + _TRAILERS.get(kind, 0) + _PER_MEMBER.get(kind, 0) * count
    return read


def _maps(types: _Types) -> dict[str, tuple[int, int]]:
    """Returns the number of each map's variable and of its structure, by name."""
    found = {}
    for number in range(1, len(types.starts) + 1):
        if types.kind(number) != _DATASEC or types.name(types.word(number, 0)) != ".maps":
            continue
        for variable, _, _ in types.members(number):
            struct_ = types.word(variable, 2)
            while types.kind(struct_) in _ALIASES:
                struct_ = types.word(struct_, 2)
            if types.kind(struct_) == _STRUCT:
                found[types.name(types.word(variable, 0))] = variable, struct_
    return found


def _size(types: _Types, struct_: int) -> int:
    for name, pointer, _ in types.members(struct_):
        if types.name(name) == _MAX_ENTRIES:
            return types.word(types.word(pointer, 2), 5)
    return 0


def _resize(types: _Types, variable: int, struct_: int, size: int) -> None:
    """Gives the variable a structure of its own, whose `max_entries` says the size."""
    members = list(types.members(struct_))
    name, info, length = (types.word(struct_, place) for place in range(3))
    place = next((i for i, each in enumerate(members) if types.name(each[0]) == _MAX_ENTRIES), None)
    numbers = range(1, len(types.starts) + 1)
    element = next((each for each in numbers if types.kind(each) == _INT_KIND), None)
    if element is None:
        raise ValueError("its BTF has no integer type")
    array = types.add(0, _ARRAY << 24, 0, element, element, size)
    pointer = types.add(0, _PTR << 24, array)
    if place is None:
        # At the last member's offset: the kernel wants the variable no larger than its section says.
        members.append((types.string(_MAX_ENTRIES), pointer, members[-1][2]))
        info += 1
    else:
        members[place] = (members[place][0], pointer, members[place][2])
    copy = types.add(name, info, length, *(word for each in members for word in each))
    struct.pack_into("<I", types.types, types.starts[variable - 1] + 8, copy)
