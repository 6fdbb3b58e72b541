"""Reads the names of BPF code out of a running guest: the kernel's own list of what its JIT made, in the guest's memory.

The emulator shows physical memory to who asks (QMP's `human-monitor-command` with `xp`, QEMU's documentation of its monitor),
which the guest does not notice. The list is `bpf_kallsyms` (kernel/bpf/core.c); its entries are `struct bpf_ksym` (include/linux/bpf.h):
start, end, a name of KSYM_NAME_LEN bytes, and the list's node. A guest may have taken its emulator over: whatever comes from there is
read within limits and need not make sense.
"""

import json
import re
import socket
import struct
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from cliffwatch_runner import clock
from cliffwatch_runner.guest.qemu_clock import connect_to

SOCKET = "names"
"""The socket's name in the folder that host and emulator share."""

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
_LONGEST_LINE = 1 << 16
_ANSWER_SECONDS = 2.0
_WORD = re.compile(r"0x([0-9a-f]{16})")
_TEXT = re.compile(r"[A-Za-z_][A-Za-z0-9_.:\[\]]{0,127}")


@dataclass(frozen=True, slots=True)
class BpfCode:
    """A piece of code that the JIT made: where it begins and ends, and its name in /proc/kallsyms."""

    start: int
    end: int
    name: str


class BpfNames:
    """Asks the emulator that listens in `folder` for the BPF code of its guest, whose list lies at `symbol`, an address of the kernel's."""

    def __init__(self, folder: Path, symbol: int) -> None:
        self._folder = folder
        self._symbol = symbol
        self._socket: socket.socket | None = None
        self._received = b""

    def now(self) -> tuple[BpfCode, ...]:
        """What the guest has at this moment, as far as the emulator shows it; nothing where it does not answer."""
        try:
            return tuple(self._walk())
        except (OSError, ValueError):
            self.close()
            return ()

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
        self._socket, self._received = None, b""

    def _walk(self) -> Iterator[BpfCode]:
        physical = self._symbol - _KERNEL_MAP
        (node,) = self._words(physical, 1)
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
        (following,) = self._words(node - base, 1)
        for size in _NAME_BYTES:
            start, end, *name = self._words(node - base - size - 16, _SHOWN_WORDS)
            text = struct.pack(f"<{len(name)}Q", *name).split(b"\0")[0].decode(errors="replace")
            if start in _JIT and start < end in _JIT and _TEXT.fullmatch(text):
                return BpfCode(start, end, text), following
        return None

    def _words(self, physical: int, count: int) -> list[int]:
        """Words of eight bytes at a physical address. Raises ValueError for an answer that is none, OSError for an emulator that is gone."""
        shown = self._ask("human-monitor-command", {"command-line": f"xp /{count}gx {physical:#x}"})
        words = [int(word, 16) for word in _WORD.findall(re.sub(r"(?m)^\S+:", "", shown))]
        if len(words) != count:
            raise ValueError(shown[:200])
        return words

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
