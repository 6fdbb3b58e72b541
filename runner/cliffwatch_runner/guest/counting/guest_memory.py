"""A running guest's memory, as its emulator's monitor shows it: the guest does not notice, and its clock does not stop.

The emulator shows physical memory to who asks (QMP's `human-monitor-command` with `xp`, QEMU's documentation of its monitor). A guest may have taken
its emulator over: whatever comes from there is read within limits and need not make sense.
"""

import json
import re
import socket
import struct
from contextlib import suppress
from pathlib import Path

from cliffwatch_runner import clock
from cliffwatch_runner.guest.qemu_clock import connect_to

SOCKET = "names"
"""The socket's name in the folder that host and emulator share."""

KERNEL_MAP = 0xFFFFFFFF80000000
"""Where the kernel's image is mapped; without randomisation what lies there is at the same place of physical memory."""

_LONGEST_LINE = 1 << 16
_ANSWER_SECONDS = 2.0
_WORD = re.compile(r"0x([0-9a-f]{16})")
_PAGE = 4096
_PRESENT, _LARGE = 1 << 0, 1 << 7
_FRAME = 0x000FFFFFFFFFF000
_LARGE_LEVELS = (2, 3)
"""Levels of page tables whose entries may map 2 MiB or 1 GiB at once."""


class GuestMemory:
    """Asks the emulator that listens in `folder`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._socket: socket.socket | None = None
        self._received = b""

    def words(self, physical: int, count: int) -> list[int]:
        """Words of eight bytes at a physical address. Raises ValueError for an answer that is none, OSError for an emulator that is gone."""
        shown = self._ask("human-monitor-command", {"command-line": f"xp /{count}gx {physical:#x}"})
        words = [int(word, 16) for word in _WORD.findall(re.sub(r"(?m)^\S+:", "", shown))]
        if len(words) != count:
            raise ValueError(shown[:200])
        return words

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
        self._socket, self._received = None, b""

    def _ask(self, command: str, arguments: dict[str, str]) -> str:
        if self._socket is None:
            self._socket = connect_to(self._folder, SOCKET)
            self._send({"execute": "qmp_capabilities"})
            self._answer()
        self._send({"execute": command, "arguments": arguments})
        return self._answer()

    def _send(self, request: dict[str, object]) -> None:
        assert self._socket is not None
        self._socket.settimeout(_ANSWER_SECONDS)
        self._socket.sendall(json.dumps(request).encode() + b"\n")

    def _answer(self) -> str:
        assert self._socket is not None
        until = clock.monotonic() + _ANSWER_SECONDS
        while clock.monotonic() < until:
            line, newline, rest = self._received.partition(b"\n")
            if not newline:
                if len(self._received) > _LONGEST_LINE:
                    break
                piece = self._socket.recv(_LONGEST_LINE)
                if not piece:
                    raise ConnectionResetError
                self._received += piece
                continue
            self._received = rest
            with suppress(RecursionError):
                answer = json.loads(line)
                if isinstance(answer, dict) and ("return" in answer or "error" in answer):
                    return str(answer.get("return", ""))
        raise ValueError("the emulator does not answer")


class KernelPages:
    """Memory at the kernel's own addresses, through its page tables of four or five levels, whose first one lies at `tables`. What the tables say is
    kept, so that each is made for one look.
    """

    def __init__(self, memory: GuestMemory, tables: int, levels: int) -> None:
        self._memory = memory
        self._tables = tables - KERNEL_MAP
        self._levels = levels
        self._entries: dict[int, int] = {}

    def read(self, address: int, size: int) -> bytes | None:
        """None where no memory is mapped. Raises as GuestMemory does."""
        first, end = address & ~7, (address + size + 7) & ~7
        content = bytearray()
        while first + len(content) < end:
            at = first + len(content)
            count = min(end, (at | (_PAGE - 1)) + 1) - at
            physical = self._physical(at)
            if physical is None:
                return None
            content += struct.pack(f"<{count // 8}Q", *self._memory.words(physical, count // 8))
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
            self._entries[physical] = self._memory.words(physical, 1)[0]
        return self._entries[physical]
