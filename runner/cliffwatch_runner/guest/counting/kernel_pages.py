"""Reads a running guest's memory at kernel addresses, through the guest's page tables.

The guest's memory is untrusted: reading is bounded, and accepts any content.
"""

import struct

from cliffwatch_runner.guest.counting.monitor import Monitor

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
