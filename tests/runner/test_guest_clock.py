"""The guest's clock is read from its emulator, and whatever an emulator says is survived."""

import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from cliffwatch_runner.guest.qemu_clock import SOCKET, GuestClock

ANSWER = (  # 2026-01-01 00:01:05
    b'{"return": {"tm_year": 126, "tm_sec": 5, "tm_hour": 0, "tm_min": 1, "tm_mon": 0, "tm_mday": 1}}\n'
)


class Emulator:
    """The emulator's end of the socket."""

    def __init__(self, folder: Path) -> None:
        self.listening = socket.socket(socket.AF_UNIX)
        self.listening.bind(str(folder / SOCKET))
        self.listening.listen()
        self.connection: socket.socket | None = None

    def says(self, text: bytes) -> bytes:
        """Sends a text, and returns what it was asked until then."""
        if self.connection is None:
            self.connection, _ = self.listening.accept()
        asked = self.connection.recv(1 << 16)
        self.connection.sendall(text)
        return asked

    def close(self) -> None:
        if self.connection is not None:
            self.connection.close()
        self.listening.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    deep = tmp_path / ("a-temporary-folder-with-a-long-name-" * 3)
    deep.mkdir()
    return deep


@pytest.fixture
def emulator(tmp_path: Path) -> Iterator[Emulator]:
    served = Emulator(tmp_path)
    yield served
    served.close()


def test_before_the_emulator_listens_the_clock_is_not_known(folder: Path) -> None:
    assert GuestClock(folder).seconds() is None


def test_the_answer_to_the_last_question_is_the_clock(emulator: Emulator, tmp_path: Path) -> None:
    clock = GuestClock(tmp_path)
    assert clock.seconds() is None
    asked = emulator.says(b'{"QMP": {"capabilities": []}}\n{"return": {}}\n' + ANSWER)

    assert clock.seconds() == 1767225665.0
    assert asked.count(b"\n") == 2
    assert emulator.says(b"").count(b"rtc-time") == 1
    clock.close()


def test_an_emulator_that_does_not_answer_is_not_waited_for_nor_asked_twice(
    emulator: Emulator, tmp_path: Path
) -> None:
    clock = GuestClock(tmp_path)
    readings = [clock.seconds() for _ in range(5)]

    assert readings == [None] * 5
    assert emulator.says(b"").count(b"rtc-time") == 1
    clock.close()


@pytest.mark.parametrize(
    "nonsense",
    [
        b"\xff\xfe\n",
        b"[" * 100_000 + b"\n",
        b'{"return": {"tm_year": 1e400}}\n',
        ANSWER.replace(b"126", b"9" * 300),
        ANSWER.replace(b'"tm_mon": 0', b'"tm_mon": -500000000000'),
        b"x" * (1 << 20),
        b'{"return": 7}\n',
    ],
)
def test_nonsense_of_an_emulator_leaves_the_clock_unknown(
    emulator: Emulator, tmp_path: Path, nonsense: bytes
) -> None:
    clock = GuestClock(tmp_path)
    clock.seconds()
    assert emulator.connection is None
    emulator.connection, _ = emulator.listening.accept()
    emulator.connection.setblocking(False)
    sent = 0
    for _ in range(40):
        with suppress(OSError):
            sent += emulator.connection.send(nonsense[sent:])
        assert clock.seconds() is None
    clock.close()


def test_a_real_emulator_tells_the_time_of_its_guest(folder: Path) -> None:
    qemu = shutil.which("qemu-system-x86_64")
    if qemu is None:
        pytest.skip("needs qemu-system-x86_64: make packages")
    options = (
        "-machine q35 -m 16M -nodefaults -display none -icount shift=0,sleep=off -rtc"
        " base=2026-01-01T00:00:00,clock=vm"
    )
    monitor = ["-qmp", f"unix:{SOCKET},server=on,wait=off"]
    with subprocess.Popen([qemu, "-S", *options.split(), *monitor], cwd=folder) as process:
        clock = GuestClock(folder)
        while process.poll() is None and clock.seconds() is None:
            pass
        seconds = clock.seconds()
        clock.close()
        process.kill()

    assert seconds == 1767225600.0
