"""Reads the names of BPF code, and the code of BPF programs, from the memory of a running guest.

The source is the kernel's list of the JIT's output, `bpf_kallsyms` (kernel/bpf/core.c). Its entries are
`struct bpf_ksym` (include/linux/bpf.h): start, end, a name of KSYM_NAME_LEN bytes, and the list's node. The
guest's memory is untrusted: reading is bounded, and accepts any content.
"""

import re
import struct
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from cliffwatch_runner.guest.counting.monitor import Monitor

LIST, TABLES = "bpf_kallsyms", "init_top_pgt"
"""Kernel symbols of the list of BPF code and of the page tables."""

_DIRECT_MAPS = {0xFFFF888000000000: 4, 0xFF11000000000000: 5}
"""Levels of the page tables, by the start of the direct map (Documentation/arch/x86/x86_64/mm.rst)."""

_DIRECT_BYTES = 1 << 46
_NAME_BYTES = (512, 128)
"""KSYM_NAME_LEN since Linux 6.1, and before."""

_JIT = range(0xFFFFFFFFA0000000, 0xFFFFFFFFFF000000)
_SHOWN_WORDS = 18
_MOST_ENTRIES = 4000
_TEXT = re.compile(r"[A-Za-z_][A-Za-z0-9_.:\[\]]{0,127}")
_PROGRAM = "bpf_prog_"
"""Prefix of program names.

Trampolines and dispatchers have other names, and their code differs from boot to boot.
"""

LARGEST_PROGRAM_BYTES = 256 << 10
_MOST_BYTES_A_LOOK = 1 << 20


@dataclass(frozen=True, slots=True)
class BpfCode:
    """A piece of JIT-compiled code: its addresses (`end` excluded), and its name in /proc/kallsyms."""

    start: int
    end: int
    name: str


class BpfNames:
    """Reads the BPF code of a guest.

    `symbol` and `tables` are the kernel addresses of the list and of the page tables. If `tables` is None,
    only names are read.
    """

    def __init__(self, monitor: Monitor, symbol: int, tables: int | None = None) -> None:
        self._monitor = monitor
        self._symbol = symbol
        self._tables = tables
        self._levels = 4

    def now(self) -> tuple[BpfCode, ...]:
        """Returns the guest's BPF code at this moment; empty if the emulator does not answer."""
        try:
            return tuple(self._walk())
        except (OSError, ValueError):
            self._monitor.close()
            return ()

    def programs(self, pieces: Collection[BpfCode]) -> Mapping[BpfCode, bytes]:
        """Reads the bytes of the pieces that are programs: at most 256 KiB each, and about 1 MiB in total.

        If the emulator stops answering, returns what was read so far.
        """
        read: dict[BpfCode, bytes] = {}
        left = _MOST_BYTES_A_LOOK
        try:
            for code, content in self._contents(pieces):
                read[code] = content
                left -= len(content)
                if left < LARGEST_PROGRAM_BYTES:
                    break
        except (OSError, ValueError):
            self._monitor.close()
        return read

    def _contents(self, pieces: Collection[BpfCode]) -> Iterator[tuple[BpfCode, bytes]]:
        if self._tables is None:
            return
        pages = KernelPages(self._monitor, self._tables, self._levels)
        for code in pieces:
            size = code.end - code.start
            if code.name.startswith(_PROGRAM) and 0 < size <= LARGEST_PROGRAM_BYTES:
                content = pages.read(code.start, size)
                if content is not None:
                    yield code, content

    def _walk(self) -> Iterator[BpfCode]:
        physical = self._symbol - KERNEL_MAP
        (node,) = self._monitor.physical(physical, 1)
        for _ in range(_MOST_ENTRIES):
            entry = None if node == self._symbol else self._entry(node)
            if entry is None:
                return
            code, node = entry
            yield code

    def _entry(self, node: int) -> tuple[BpfCode, int] | None:
        """Returns the entry whose list node is at `node`, and the address of the next node."""
        base = next((base for base in _DIRECT_MAPS if base <= node < base + _DIRECT_BYTES), None)
        if base is None:
            return None
        self._levels = _DIRECT_MAPS[base]
        (following,) = self._monitor.physical(node - base, 1)
        for size in _NAME_BYTES:
            start, end, *name = self._monitor.physical(node - base - size - 16, _SHOWN_WORDS)
            text = struct.pack(f"<{len(name)}Q", *name).split(b"\0")[0].decode(errors="replace")
            if start in _JIT and start < end in _JIT and _TEXT.fullmatch(text):
                return BpfCode(start, end, text), following
        return None


KERNEL_MAP = 0xFFFFFFFF80000000
"""Address of the kernel image's mapping. Without randomisation, offsets in it are physical addresses."""

_PAGE = 4096
_PRESENT, _LARGE = 1 << 0, 1 << 7
_FRAME = 0x000FFFFFFFFFF000
_LARGE_LEVELS = (2, 3)
"""Levels of page tables whose entries may map 2 MiB or 1 GiB at once."""


class KernelPages:
    """Memory at kernel addresses, through page tables of four or five levels. The first table is at `tables`.

    Table entries are cached, so make a new object for each look at the guest.
    """

    def __init__(self, monitor: Monitor, tables: int, levels: int) -> None:
        self._monitor = monitor
        self._tables = tables - KERNEL_MAP
        self._levels = levels
        self._entries: dict[int, int] = {}

    def read(self, address: int, size: int) -> bytes | None:
        """Reads `size` bytes; None if no memory is mapped there. Raises what Monitor raises."""
        first, end = address & ~7, (address + size + 7) & ~7
        content = bytearray()
        while first + len(content) < end:
            at = first + len(content)
            count = min(end, (at | (_PAGE - 1)) + 1) - at
            physical = self._physical(at)
            if physical is None:
                return None
            content += struct.pack(f"<{count // 8}Q", *self._monitor.physical(physical, count // 8))
        return bytes(content[address - first : address - first + size])

    def _physical(self, address: int) -> int | None:
        table = self._tables
        for level in range(self._levels, 0, -1):
            shift = 12 + 9 * (level - 1)
            entry = self._entry(table + 8 * (address >> shift & 511))
            if not entry & _PRESENT:
                return None
            within = (1 << shift) - 1
            if level == 1 or (level in _LARGE_LEVELS and entry & _LARGE):
                return (entry & _FRAME & ~within) | (address & within)
            table = entry & _FRAME
        return None

    def _entry(self, physical: int) -> int:
        if physical not in self._entries:
            self._entries[physical] = self._monitor.physical(physical, 1)[0]
        return self._entries[physical]
