"""Reads the names of BPF code, and the code of BPF programs, from the memory of a running guest.

The source is the kernel's list of the JIT's output, `bpf_kallsyms` (kernel/bpf/core.c). Its entries are
`struct bpf_ksym` (include/linux/bpf.h): start, end, a name of KSYM_NAME_LEN bytes, and the list's node. The
guest's memory is untrusted: reading is bounded, and accepts any content.
"""

import re
import struct
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from cliffwatch_runner.guest.counting.kernel_pages import KERNEL_MAP, KernelPages
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
