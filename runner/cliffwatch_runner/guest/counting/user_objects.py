"""Finds the objects in a guest's current process and their addresses: program, shared libraries and the vDSO.

Addresses of user space are randomised for every process, and asking for them inside the guest would be
measured. So they are read through the emulator's monitor. The dynamic linker keeps a list for debuggers:
DT_DEBUG of the program leads to `struct r_debug`, and from there to one `struct link_map` per object, with
its address and file name (elf.h and link.h of glibc and musl). A static program has no list, and only the
vDSO besides itself. The program headers at an object's address give its size. The guest is untrusted: reading
is bounded, and accepts any content.
"""

import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from cliffwatch_runner.guest.counting.monitor import Monitor

ANONYMOUS = "anonymous memory"
VDSO = "[vdso]"
HEADER_BYTES = 64
"""Size of a 64-bit ELF header (elf.h). It identifies the file of a program in memory."""

_MAGIC = b"\x7fELF\x02\x01"
_EXECUTABLE, _SHARED = 2, 3
_LOAD, _DYNAMIC, _DEBUG = 1, 2, 21
_PAGE = 4096
_PROGRAM_HEADER_BYTES = 56
_MOST_PROGRAM_HEADERS = 32
_MOST_DYNAMIC = 64
_MOST_OBJECTS = 100
_MOST_ANONYMOUS = 200
_HIGH = 0x7F0000000000
_MOST_HIGH_PAGES = 64
"""The stack is at high addresses too, but only a page or two of it are in memory."""

_NAME_WORDS = 32
_LONGEST_NAME = 80
_USER_END = 1 << 47
_UNPRINTED = re.compile(r"[^A-Za-z0-9_.+\-]")


@dataclass(frozen=True, slots=True)
class MappedObject:
    """Addresses of a process, from `start` to before `end`, and the name of the file mapped there.

    The name may also be `[vdso]` or `anonymous memory`.
    """

    start: int
    end: int
    name: str


@dataclass(frozen=True, slots=True)
class _Extent:
    """An ELF file in memory."""

    moved: int
    """Load address minus the address in the file."""

    start: int
    end: int
    dynamic: int | None
    """Address of the dynamic section; None if there is none."""


class UserObjects:
    """Reads the objects of a guest's current process.

    `programs` are names of programs by the first 64 bytes of their files.
    """

    def __init__(self, monitor: Monitor, programs: Mapping[bytes, str]) -> None:
        self._monitor = monitor
        self._programs = programs

    def now(self) -> tuple[MappedObject, ...]:
        """Returns the objects of the current process, then its anonymous memory. Omits an unknown program.

        Empty if

        - the emulator does not answer,
        - the guest runs no process, or switches to another one during the reading,
        - a part of an object is not in memory: the rest of it would be taken for anonymous memory.
        """
        try:
            return tuple(self._read())
        except (OSError, ValueError, struct.error):
            self._monitor.close()
            return ()

    def _read(self) -> list[MappedObject]:
        ranges = self._monitor.user_ranges()
        if not ranges:
            return []
        lowest = ranges[0][0]
        header = self._bytes(lowest, HEADER_BYTES)
        main = self._extent(lowest, header)
        if main is None:
            return []
        libraries = list(self._libraries(main)) or list(self._vdso(ranges))
        if self._bytes(lowest, HEADER_BYTES) != header:
            return []
        name = self._programs.get(header)
        known = [*libraries] if name is None else [MappedObject(main.start, main.end, name), *libraries]
        taken = [*known, MappedObject(main.start, main.end, "")]
        return [*known, *islice(_anonymous(ranges, taken), _MOST_ANONYMOUS)]

    def _libraries(self, main: _Extent) -> Iterator[MappedObject]:
        """Yields the objects of the linker's list after the program. A static program has none."""
        node = self._list_of(main)
        for place in range(_MOST_OBJECTS):
            if not 0 < node < _USER_END:
                return
            moved, name, _, node = self._monitor.virtual(node, 4)
            extent = (
                self._extent(moved, self._bytes(moved, HEADER_BYTES))
                if place and 0 < moved < _USER_END
                else None
            )
            if extent is not None:
                yield MappedObject(extent.start, extent.end, self._name(name))

    def _vdso(self, ranges: Sequence[tuple[int, int]]) -> Iterator[MappedObject]:
        """Yields the vDSO of a program without a list.

        The kernel maps it at a high address, where nothing else begins with an ELF header.
        """
        high = [
            page
            for start, end in ranges[::-1]
            for page in range(max(start, _HIGH), end, _PAGE)[:_MOST_HIGH_PAGES]
        ]
        for page in high[:_MOST_HIGH_PAGES]:
            if self._bytes(page, len(_MAGIC)) == _MAGIC:
                extent = self._extent(page, self._bytes(page, HEADER_BYTES))
                if extent is not None:
                    yield MappedObject(extent.start, extent.end, VDSO)
                return

    def _list_of(self, main: _Extent) -> int:
        if main.dynamic is None:
            return 0
        for place in range(_MOST_DYNAMIC):
            tag, value = self._monitor.virtual(main.dynamic + 16 * place, 2)
            if tag == _DEBUG and 0 < value < _USER_END:
                return self._monitor.virtual(value + 8, 1)[0]
            if tag == 0:
                break
        return 0

    def _name(self, address: int) -> str:
        """Returns a file's name without its folders, in printable ASCII."""
        text = self._text(address) if 0 < address < _USER_END else b""
        plain = _UNPRINTED.sub("?", text.rpartition(b"/")[2].decode(errors="replace"))[:_LONGEST_NAME]
        return VDSO if plain.startswith("linux-vdso") else plain or "shared library without a name"

    def _text(self, address: int) -> bytes:
        """Reads a zero-terminated string, at most to the end of its page: the next page may not be mapped."""
        words = min(_NAME_WORDS, (_PAGE - address % _PAGE) // 8)
        return self._bytes(address, max(1, words) * 8).split(b"\0")[0]

    def _extent(self, address: int, header: bytes) -> _Extent | None:
        """Returns the extent of the ELF file at an address; None if it is not a 64-bit program or library."""
        kind, offset, size, count = struct.unpack_from("<H14xQ14xHH", header, 16)
        if (
            not header.startswith(_MAGIC)
            or kind not in (_EXECUTABLE, _SHARED)
            or size != _PROGRAM_HEADER_BYTES
        ):
            return None
        if not 0 < count <= _MOST_PROGRAM_HEADERS or offset > _PAGE:
            return None
        table = self._bytes(address + offset, size * count)
        rows = [struct.unpack_from("<I12xQ16xQ", table, size * place) for place in range(count)]
        loads = [(begin, begin + length) for what, begin, length in rows if what == _LOAD]
        if not loads:
            return None
        first, last = min(begin for begin, _ in loads) // _PAGE * _PAGE, max(end for _, end in loads)
        moved = address - first
        start, end = moved + first, -(-(moved + last) // _PAGE) * _PAGE
        dynamic = next((moved + begin for what, begin, _ in rows if what == _DYNAMIC), None)
        return _Extent(moved, start, end, dynamic) if 0 <= start < end <= _USER_END else None

    def _bytes(self, address: int, count: int) -> bytes:
        words = self._monitor.virtual(address, -(-count // 8))
        return struct.pack(f"<{len(words)}Q", *words)[:count]


def _anonymous(ranges: Sequence[tuple[int, int]], objects: Sequence[MappedObject]) -> Iterator[MappedObject]:
    """Yields the parts of the ranges that no object covers."""
    taken = sorted((each.start, each.end) for each in objects)
    for start, end in ranges:
        at = start
        for begin, behind in taken:
            if begin < end and behind > at:
                if begin > at:
                    yield MappedObject(at, begin, ANONYMOUS)
                at = behind
        if at < end:
            yield MappedObject(at, end, ANONYMOUS)
