"""A guest's memory as its emulator's monitor shows it, and an emulator that shows something else."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from monitor_stand_in import Emulator

from cliffwatch_runner.guest.counting.monitor import Monitor

MEMORY = (
    "0000555555554000-0000555555560000 000000000000c000 ur-\r\n"
    "0000555555560000-0000555555561000 0000000000001000 urw\r\n"
    "00007ffff7fc1000-00007ffff7fc5000 0000000000004000 ur-\r\n"
    "ffff888000000000-ffff888000099000 0000000000099000 -rw\r\n"
    "ffffffffff600000-ffffffffff601000 0000000000001000 ur-\r\n"
)
WORDS = "00007ffff7fc1000: 0x00010102464c457f 0x0000000000000000\r\n00007ffff7fc1010: 0x00000001003e0003\r\n"


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
    emulator.answers = {"info mem": MEMORY}.__getitem__

    assert monitor.user_ranges() == [
        (0x555555554000, 0x555555560000),
        (0x555555560000, 0x555555561000),
        (0x7FFFF7FC1000, 0x7FFFF7FC5000),
    ]


def test_a_guest_without_a_process_has_none(emulator: Emulator, monitor: Monitor) -> None:
    emulator.answers = {"info mem": "PG disabled\r\n"}.__getitem__

    assert monitor.user_ranges() == []


def test_ranges_without_end_are_read_to_a_limit(emulator: Emulator, monitor: Monitor) -> None:
    emulator.answers = {
        "info mem": "".join(f"{each:016x}-{each + 1:016x} {1:016x} ur-\n" for each in range(10_000))
    }.__getitem__

    assert len(monitor.user_ranges()) == 4096


def test_words_are_read_by_addresses_of_the_process(emulator: Emulator, monitor: Monitor) -> None:
    emulator.answers = {"x /3gx 0x7ffff7fc1000": WORDS}.__getitem__

    assert monitor.virtual(0x7FFFF7FC1000, 3) == [0x00010102464C457F, 0, 0x1003E0003]


def test_words_are_read_by_physical_addresses(emulator: Emulator, monitor: Monitor) -> None:
    emulator.answers = {"xp /1gx 0x1000": "0000000000001000: 0x0000000000000007\r\n"}.__getitem__

    assert monitor.physical(0x1000, 1) == [7]


@pytest.mark.parametrize("shown", ["Cannot access memory\r\n", "", WORDS + WORDS, "0x7: 0x7\n"])
def test_an_answer_of_other_words_is_none(emulator: Emulator, monitor: Monitor, shown: str) -> None:
    emulator.answers = {"x /3gx 0x7ffff7fc1000": shown}.__getitem__

    with pytest.raises(ValueError, match=r".*"):
        monitor.virtual(0x7FFFF7FC1000, 3)


def test_an_answer_without_end_is_none(emulator: Emulator, monitor: Monitor) -> None:
    emulator.answers = {"info mem": "x" * (3 << 20)}.__getitem__

    with pytest.raises(ValueError, match="the emulator does not answer"):
        monitor.user_ranges()


def test_an_emulator_that_is_not_there_is_gone(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r".*"):
        Monitor(tmp_path).user_ranges()
