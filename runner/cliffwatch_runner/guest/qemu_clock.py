"""Reads the clock of a running guest from its emulator, over QMP, without blocking.

QEMU's real-time clock device follows the virtual clock (`-rtc clock=vm`), and the machine object shows its
time. Sources: QEMU's documentation of QMP (`qom-get`), and the property `rtc-time` of the x86 machines.
"""

import json
import os
import socket
import stat
from calendar import timegm
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

SOCKET = "qmp"
"""Name of the socket in the folder that host and emulator share."""

_ASK = (
    b'{"execute": "qmp_capabilities"}\n',
    b'{"execute": "qom-get", "arguments": {"path": "/machine", "property": "rtc-time"}}\n',
)
_LONGEST_LINE = 1 << 16


class GuestClock:
    """The clock of the guest whose emulator listens in `folder`.

    The guest may have taken over its emulator, so the answers are untrusted: reading is bounded, and accepts
    any content.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._socket: socket.socket | None = None
        self._received = b""
        self._asked = False
        self._seconds: float | None = None

    def seconds(self) -> float | None:
        """Returns the guest's clock in seconds since 1970, from the last answer; None before the first.

        Each call reads the answers since the last call, and sends a new query once the previous one is
        answered.
        """
        try:
            self._connect()
            self._receive()
            self._ask()
        except OSError:
            self.close()
        return self._seconds

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
        self._socket, self._received, self._asked = None, b"", False

    def _connect(self) -> None:
        if self._socket is not None:
            return
        connection = connect_to(self._folder, SOCKET)
        connection.setblocking(False)
        connection.sendall(_ASK[0])
        self._socket = connection

    def _ask(self) -> None:
        if self._socket is not None and not self._asked:
            self._socket.sendall(_ASK[1])
            self._asked = True

    def _receive(self) -> None:
        assert self._socket is not None
        with suppress(BlockingIOError):
            piece = self._socket.recv(_LONGEST_LINE)
            if not piece:
                raise ConnectionResetError
            self._received += piece
        *lines, self._received = self._received.split(b"\n")
        for line in lines:
            self._take(line)
        if len(self._received) > _LONGEST_LINE:
            raise ConnectionResetError

    def _take(self, line: bytes) -> None:
        try:
            answer = json.loads(line)
        except (ValueError, RecursionError):
            return
        match answer:
            case {
                "return": {
                    "tm_year": int(year),
                    "tm_mon": int(month),
                    "tm_mday": int(day),
                    "tm_hour": int(hour),
                    "tm_min": int(minute),
                    "tm_sec": int(second),
                }
            }:
                self._asked = False
                with suppress(ValueError, OverflowError):
                    self._seconds = float(timegm((year + 1900, month + 1, day, hour, minute, second)))
            case _:
                return


def connect_to(folder: Path, name: str) -> socket.socket:
    """Connects to a socket of the emulator.

    Raises OSError if nothing listens there or its backlog is full.
    """
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.setblocking(False)
        with _socket_file(folder, name) as file:
            # By descriptor, because a socket address has at most 107 bytes, and a temporary folder may have
            # more.
            connection.connect(f"/proc/self/fd/{file}")
    except OSError:
        connection.close()
        raise
    return connection


@contextmanager
def _socket_file(folder: Path, name: str) -> Iterator[int]:
    """Opens the socket file without following links: a guest could place one through its emulator."""
    above = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        file = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=above)
    finally:
        os.close(above)
    try:
        if not stat.S_ISSOCK(os.fstat(file).st_mode):
            raise ConnectionRefusedError
        yield file
    finally:
        os.close(file)
