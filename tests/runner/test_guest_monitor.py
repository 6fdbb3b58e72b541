"""A guest's memory as its emulator's monitor shows it, and an emulator that shows something else."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from cliffwatch_runner.guest.counting.monitor import SOCKET, Monitor

MEMORY = (
    "0000555555554000-0000555555560000 000000000000c000 ur-\r\n"
    "0000555555560000-0000555555561000 0000000000001000 urw\r\n"
    "00007ffff7fc1000-00007ffff7fc5000 0000000000004000 ur-\r\n"
    "ffff888000000000-ffff888000099000 0000000000099000 -rw\r\n"
    "ffffffffff600000-ffffffffff601000 0000000000001000 ur-\r\n"
)
WORDS = "00007ffff7fc1000: 0x00010102464c457f 0x0000000000000000\r\n00007ffff7fc1010: 0x00000001003e0003\r\n"


class Emulator:
    """The emulator's end: answers each command with what it was given for it."""

    def __init__(self, folder: Path) -> None:
        self.answers: dict[str, str] = {}
        self.asked: list[str] = []
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(folder / SOCKET))
        self._listening.listen()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        connection, _ = self._listening.accept()
        with suppress(OSError), connection, connection.makefile("r") as lines:  # gone, who asked
            for line in lines:
                asked = json.loads(line)
                command = asked.get("arguments", {}).get("command-line", "")
                self.asked.append(command)
                answer = self.answers.get(command, "")
                connection.sendall(b'{"event": "RTC_CHANGE"}\n' + json.dumps({"return": answer}).encode() + b"\n")

    def close(self) -> None:
        self._listening.close()
        self._thread.join()


@pytest.fixture
def emulator(tmp_path: Path) -> Iterator[Emulator]:
    served = Emulator(tmp_path)
    yield served
    served.close()


@pytest.fixture
def monitor(emulator: Emulator, tmp_path: Path) -> Iterator[Monitor]:
    asking = Monitor(tmp_path)
    yield asking
    asking.close()


def test_ranges_are_those_of_user_space(emulator: Emulator, monitor: Monitor) -> None:
    emulator.answers["info mem"] = MEMORY

    assert monitor.user_ranges() == [
        (0x555555554000, 0x555555560000),
        (0x555555560000, 0x555555561000),
        (0x7FFFF7FC1000, 0x7FFFF7FC5000),
    ]


def test_a_guest_without_a_process_has_none(emulator: Emulator, monitor: Monitor) -> None:
    emulator.answers["info mem"] = "PG disabled\r\n"

    assert monitor.user_ranges() == []


def test_ranges_without_end_are_read_to_a_limit(emulator: Emulator, monitor: Monitor) -> None:
    emulator.answers["info mem"] = "".join(f"{each:016x}-{each + 1:016x} {1:016x} ur-\n" for each in range(10_000))

    assert len(monitor.user_ranges()) == 4096


def test_words_are_read_by_addresses_of_the_process(emulator: Emulator, monitor: Monitor) -> None:
    emulator.answers["x /3gx 0x7ffff7fc1000"] = WORDS

    assert monitor.virtual(0x7FFFF7FC1000, 3) == [0x00010102464C457F, 0, 0x1003E0003]


def test_words_are_read_by_physical_addresses(emulator: Emulator, monitor: Monitor) -> None:
    emulator.answers["xp /1gx 0x1000"] = "0000000000001000: 0x0000000000000007\r\n"

    assert monitor.physical(0x1000, 1) == [7]


@pytest.mark.parametrize("shown", ["Cannot access memory\r\n", "", WORDS + WORDS, "0x7: 0x7\n"])
def test_an_answer_of_other_words_is_none(emulator: Emulator, monitor: Monitor, shown: str) -> None:
    emulator.answers["x /3gx 0x7ffff7fc1000"] = shown

    with pytest.raises(ValueError, match=r".*"):
        monitor.virtual(0x7FFFF7FC1000, 3)


def test_an_answer_without_end_is_none(emulator: Emulator, monitor: Monitor) -> None:
    emulator.answers["info mem"] = "x" * (3 << 20)

    with pytest.raises(ValueError, match="the emulator does not answer"):
        monitor.user_ranges()


def test_an_emulator_that_is_not_there_is_gone(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r".*"):
        Monitor(tmp_path).user_ranges()
