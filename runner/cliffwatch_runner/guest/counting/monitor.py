"""Reads a running guest's memory through its emulator's monitor. The guest does not notice.

QMP's `human-monitor-command` (see QEMU's documentation of its monitor) offers:

- `xp`: physical memory
- `x`: memory of the process that the processor runs
- `info mem`: the mapped addresses of that process

The guest may have taken over its emulator, so the answers are untrusted: reading is bounded, and accepts any
content.
"""

import json
import re
import socket
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from cliffwatch_runner import clock
from cliffwatch_runner.guest.qemu_clock import connect_to

SOCKET = "names"
"""Name of the socket in the folder that host and emulator share."""

_LONGEST_LINE = 1 << 20
_PIECE = 1 << 16
_ANSWER_SECONDS = 2.0
_ADDRESS = re.compile(r"(?m)^\S+:")
_WORD = re.compile(r"0x([0-9a-f]{16})")
_RANGE = re.compile(r"(?m)^([0-9a-f]{16})-([0-9a-f]{16}) [0-9a-f]{16} u")
_MOST_RANGES = 4096
_USER_END = 1 << 47


class Monitor:
    """The monitor of the emulator that listens in `folder`.

    Queries raise ValueError for an invalid answer, and OSError if the emulator is gone.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._socket: socket.socket | None = None
        self._received = b""

    def close(self) -> None:
        """Closes the connection. The next query opens a new one."""
        if self._socket is not None:
            self._socket.close()
        self._socket, self._received = None, b""

    def physical(self, address: int, count: int) -> list[int]:
        """Reads `count` words of 8 bytes at a physical address."""
        return self._words("xp", address, count)

    def virtual(self, address: int, count: int) -> list[int]:
        """Reads `count` words of 8 bytes at an address of the guest's current process."""
        return self._words("x", address, count)

    def user_ranges(self) -> Sequence[tuple[int, int]]:
        """Returns the mapped ranges (start, end) of the guest's current process, lowest first, at most 4096.

        Empty if the guest runs no process.
        """
        return list(self._ranges(self._shown("info mem")))[:_MOST_RANGES]

    def _ranges(self, shown: str) -> Iterator[tuple[int, int]]:
        for match in _RANGE.finditer(shown):
            start, end = int(match[1], 16), int(match[2], 16)
            if start < end <= _USER_END:
                yield start, end

    def _words(self, command: str, address: int, count: int) -> list[int]:
        shown = self._shown(f"{command} /{count}gx {address:#x}")
        words = [int(word, 16) for word in _WORD.findall(_ADDRESS.sub("", shown))]
        if len(words) != count:
            raise ValueError(shown[:200])
        return words

    def _shown(self, command: str) -> str:
        return self._ask("human-monitor-command", {"command-line": command})

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
                piece = self._socket.recv(_PIECE)
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
