"""Reads the names of BPF code out of a running guest: the kernel's own list of what its JIT made, in the guest's memory.

The list is `bpf_kallsyms` (kernel/bpf/core.c); its entries are `struct bpf_ksym` (include/linux/bpf.h):
start, end, a name of KSYM_NAME_LEN bytes, and the list's node. A guest may have taken its emulator over: whatever comes from there is
read within limits and need not make sense.
"""

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from cliffwatch_runner.guest.counting.monitor import Monitor

LIST = "bpf_kallsyms"
_KERNEL_MAP = 0xFFFFFFFF80000000
"""Where the kernel's image is mapped; without randomisation what lies there is at the same place of physical memory."""

_DIRECT_MAPS = (0xFFFF888000000000, 0xFF11000000000000)
"""Where all physical memory is mapped, with page tables of four and five levels (Documentation/arch/x86/x86_64/mm.rst)."""

_DIRECT_BYTES = 1 << 46
_NAME_BYTES = (512, 128)
"""KSYM_NAME_LEN from linux 6.1 on, and before."""

_JIT = range(0xFFFFFFFFA0000000, 0xFFFFFFFFFF000000)
_SHOWN_WORDS = 18
_MOST_ENTRIES = 4000
_TEXT = re.compile(r"[A-Za-z_][A-Za-z0-9_.:\[\]]{0,127}")


@dataclass(frozen=True, slots=True)
class BpfCode:
    """A piece of code that the JIT made: where it begins and ends, and its name in /proc/kallsyms."""

    start: int
    end: int
    name: str


class BpfNames:
    """Asks an emulator for the BPF code of its guest, whose list lies at `symbol`, an address of the kernel's."""

    def __init__(self, monitor: Monitor, symbol: int) -> None:
        self._monitor = monitor
        self._symbol = symbol

    def now(self) -> tuple[BpfCode, ...]:
        """What the guest has at this moment, as far as the emulator shows it; nothing where it does not answer."""
        try:
            return tuple(self._walk())
        except (OSError, ValueError):
            self._monitor.close()
            return ()

    def _walk(self) -> Iterator[BpfCode]:
        physical = self._symbol - _KERNEL_MAP
        (node,) = self._monitor.physical(physical, 1)
        for _ in range(_MOST_ENTRIES):
            entry = None if node == self._symbol else self._entry(node)
            if entry is None:
                return
            code, node = entry
            yield code

    def _entry(self, node: int) -> tuple[BpfCode, int] | None:
        """The entry whose list node is at an address, and the address of the next one's."""
        base = next((base for base in _DIRECT_MAPS if base <= node < base + _DIRECT_BYTES), None)
        if base is None:
            return None
        (following,) = self._monitor.physical(node - base, 1)
        for size in _NAME_BYTES:
            start, end, *name = self._monitor.physical(node - base - size - 16, _SHOWN_WORDS)
            text = struct.pack(f"<{len(name)}Q", *name).split(b"\0")[0].decode(errors="replace")
            if start in _JIT and start < end in _JIT and _TEXT.fullmatch(text):
                return BpfCode(start, end, text), following
        return None
