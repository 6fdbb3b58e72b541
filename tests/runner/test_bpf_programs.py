"""The code of BPF programs, read out of a guest's memory as its emulator shows it: of a guest as it should
be, and of one that lies.
"""

import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from monitor_stand_in import Emulator

from cliffwatch_runner.guest.counting.bpf_names import KERNEL_MAP, LARGEST_PROGRAM_BYTES, BpfCode, BpfNames
from cliffwatch_runner.guest.counting.monitor import Monitor
from cliffwatch_runner.guest.counting.name_watch import NameSources, NameWatch, read_bpf_bytes, read_bpf_code

DIRECT_MAP = 0xFFFF888000000000
JIT = 0xFFFFFFFFA0000000
LIST, TABLES = 0x1000, 0x2000
PROGRAM, OTHER = "bpf_prog_0123456789abcdef_get", "bpf_trampoline_6442467083"


class Guest:
    """A guest's physical memory, with the kernel's list of BPF code and page tables of four levels for the
    first 2 MiB of what the JIT makes.
    """

    def __init__(self) -> None:
        self.memory: dict[int, int] = {}
        self.last = LIST
        self.word(LIST, KERNEL_MAP + LIST)
        for table, index, following in ((TABLES, 511, 0x3000), (0x3000, 510, 0x4000), (0x4000, 256, 0x5000)):
            self.word(table + 8 * index, following | 0x63)

    def word(self, physical: int, value: int) -> None:
        self.memory[physical] = value & (1 << 64) - 1

    def page(self, number: int, frame: int) -> None:
        """A page of the JIT's lies in a frame of physical memory."""
        self.word(0x5000 + 8 * number, frame | 1 << 63 | 0x163)

    def holds(self, physical: int, content: bytes) -> None:
        for place, (word,) in enumerate(struct.iter_unpack("<Q", content + bytes(-len(content) % 8))):
            self.word(physical + 8 * place, word)

    def listed(self, start: int, end: int, name: bytes, *, at: int, following: int | None = None) -> None:
        """An entry behind the last one; its node lies at a physical address."""
        self.word(self.last, DIRECT_MAP + at)
        self.word(at, KERNEL_MAP + LIST if following is None else following)
        self.holds(at - 512, name.ljust(512, b"\0"))
        self.word(at - 528, start)
        self.word(at - 520, end)
        self.last = at

    def shows(self, command: str) -> str:
        asked = re.fullmatch(r"xp /(\d+)gx 0x([0-9a-f]+)", command)
        assert asked is not None, command
        first = int(asked[2], 16)
        words = [f"0x{self.memory.get(first + 8 * place, 0):016x}" for place in range(int(asked[1]))]
        lines = (
            f"{first + 8 * at:016x}: {' '.join(words[at : at + 2])}\r\n" for at in range(0, len(words), 2)
        )
        return "".join(lines)


@pytest.fixture
def guest() -> Guest:
    return Guest()


@pytest.fixture
def emulator(tmp_path: Path, guest: Guest) -> Iterator[Emulator]:
    served = Emulator(tmp_path, guest.shows)
    yield served
    served.close()


@pytest.fixture
def monitor(emulator: Emulator, tmp_path: Path) -> Iterator[Monitor]:
    asking = Monitor(tmp_path)
    yield asking
    asking.close()


@pytest.fixture
def names(monitor: Monitor) -> BpfNames:
    return BpfNames(monitor, KERNEL_MAP + LIST, KERNEL_MAP + TABLES)


def code(size: int) -> bytes:
    return bytes(number * 7 % 251 for number in range(size))


def test_programs_are_read_page_by_page_wherever_the_pages_lie(names: BpfNames, guest: Guest) -> None:
    whole = code(5000)
    guest.page(0, 0x9000)
    guest.page(1, 0x7000)
    guest.page(2, 0xC000)
    guest.holds(0x9000 + 0xF00, whole[:0x100])
    guest.holds(0x7000, whole[0x100:0x1100])
    guest.holds(0xC000, whole[0x1100:])
    guest.listed(JIT + 0xF04, JIT + 0xF00 + 5000, PROGRAM.encode(), at=0x20000)
    guest.listed(JIT + 0x100, JIT + 0x200, OTHER.encode(), at=0x30000)

    pieces = names.now()

    assert [each.name for each in pieces] == [PROGRAM, OTHER]
    assert names.programs(pieces) == {BpfCode(JIT + 0xF04, JIT + 0xF00 + 5000, PROGRAM): whole[4:]}


def test_a_page_of_two_mebibytes_is_read_too(names: BpfNames, guest: Guest) -> None:
    guest.word(0x4000 + 8 * 256, 0x40000000 | 0xE3)
    guest.holds(0x40000000 + 0x12340, code(64))

    assert names.programs([BpfCode(JIT + 0x12340, JIT + 0x12380, PROGRAM)]) == {
        BpfCode(JIT + 0x12340, JIT + 0x12380, PROGRAM): code(64)
    }


def test_page_tables_of_five_levels_are_walked(monitor: Monitor, guest: Guest) -> None:
    guest.word(0x6000 + 8 * 511, TABLES | 0x63)
    guest.page(0, 0x9000)
    guest.holds(0x9000, code(16))
    guest.word(LIST, 0xFF11000000020000)
    guest.word(0x20000, KERNEL_MAP + LIST)
    guest.holds(0x20000 - 512, PROGRAM.encode())
    guest.word(0x20000 - 528, JIT)
    guest.word(0x20000 - 520, JIT + 16)
    names = BpfNames(monitor, KERNEL_MAP + LIST, KERNEL_MAP + 0x6000)

    assert list(names.programs(names.now()).values()) == [code(16)]


@pytest.mark.parametrize("size", [1 << 30, LARGEST_PROGRAM_BYTES + 1, 0])
def test_what_no_program_is_as_long_as_is_not_read(names: BpfNames, emulator: Emulator, size: int) -> None:
    assert names.programs([BpfCode(JIT, JIT + size, PROGRAM)]) == {}
    assert emulator.asked == []


def test_many_programs_are_read_in_several_looks(names: BpfNames, guest: Guest, emulator: Emulator) -> None:
    for number in range(512):
        guest.page(number, 0x100000)
    long = [
        BpfCode(JIT + number, JIT + number + LARGEST_PROGRAM_BYTES, PROGRAM) for number in range(0, 800, 8)
    ]

    read = names.programs(long)

    assert 1 <= len(read) <= 4
    assert len(emulator.asked) < 1000


def test_a_list_without_an_end_is_left_at_some_length(names: BpfNames, guest: Guest) -> None:
    guest.listed(JIT, JIT + 16, PROGRAM.encode(), at=0x20000, following=DIRECT_MAP + 0x20000)

    assert set(names.now()) == {BpfCode(JIT, JIT + 16, PROGRAM)}


@pytest.mark.parametrize(
    ("start", "end", "name"),
    [
        (JIT, JIT + 16, b"bpf_prog_\x1b[2J"),
        (JIT, JIT + 16, b"bpf_prog_\xff\n"),
        (JIT, 0xFFFFFFFFFFFFFFFF, PROGRAM.encode()),
        (JIT + 16, JIT, PROGRAM.encode()),
        (0xFFFFFFFF81000000, JIT + 16, PROGRAM.encode()),
        (0, 0, b""),
    ],
    ids=["cursor", "no text", "far end", "backwards", "kernel", "nothing"],
)
def test_an_entry_that_is_none_ends_the_list(
    names: BpfNames, guest: Guest, start: int, end: int, name: bytes
) -> None:
    guest.listed(start, end, name, at=0x20000)

    assert names.now() == ()


@pytest.mark.parametrize("entry", [0, 0x62, 0xFFFFFFFFFFFFFFFE])
def test_what_is_not_mapped_is_not_read(names: BpfNames, guest: Guest, entry: int) -> None:
    guest.word(0x5000, entry & ~1)

    assert names.programs([BpfCode(JIT, JIT + 16, PROGRAM)]) == {}


def test_page_tables_that_lead_to_themselves_end(names: BpfNames, guest: Guest, emulator: Emulator) -> None:
    for index in range(512):
        guest.word(TABLES + 8 * index, TABLES | 0x63)

    assert len(names.programs([BpfCode(JIT, JIT + 16, PROGRAM)])) == 1
    assert len(emulator.asked) < 10


@pytest.mark.parametrize("answer", ["", "Cannot access memory\r\n", "0" * (1 << 17), "[" * 10_000, "0x12"])
def test_an_emulator_that_answers_nonsense_shows_nothing(
    names: BpfNames, emulator: Emulator, answer: str
) -> None:
    emulator.answers = lambda _: answer

    assert names.now() == ()
    assert names.programs([BpfCode(JIT, JIT + 16, PROGRAM)]) == {}


def test_a_kernel_that_does_not_say_where_its_page_tables_are_has_names_alone(
    monitor: Monitor, guest: Guest
) -> None:
    guest.listed(JIT, JIT + 16, PROGRAM.encode(), at=0x20000)
    names = BpfNames(monitor, KERNEL_MAP + LIST)

    assert [each.name for each in names.now()] == [PROGRAM]
    assert names.programs(names.now()) == {}


class Looks(BpfNames):
    """A guest that has one program, whose code is another one at each look until it stays."""

    def __init__(self, readings: list[bytes]) -> None:
        self.readings = readings
        self.read = 0

    def now(self) -> tuple[BpfCode, ...]:
        return (BpfCode(JIT, JIT + 2, PROGRAM), BpfCode(JIT + 64, JIT + 128, OTHER))

    def programs(self, pieces: object) -> dict[BpfCode, bytes]:
        wanted = BpfCode(JIT, JIT + 2, PROGRAM)
        if wanted not in pieces:  # type: ignore[operator]
            return {}
        self.read += 1
        return {wanted: self.readings[self.read - 1]}


class NoObjects:
    def now(self) -> tuple[()]:
        return ()


def watch_of(names: BpfNames, folder: Path) -> NameWatch:
    objects: Any = NoObjects()
    return NameWatch(NameSources(Monitor(folder), names, objects), folder)


def test_code_is_read_until_it_stays_the_same(tmp_path: Path) -> None:
    """The kernel writes into a program what is attached to it."""
    (tmp_path / "current").write_text("000-get\n")
    names = Looks([b"\x90\x90", b"\xeb\x00", b"\xeb\x00", b"never read"])
    watch = watch_of(names, tmp_path)

    for _ in range(5):
        watch.look("000-get")
    watch.write(tmp_path)

    assert names.read == 3
    assert read_bpf_bytes(tmp_path) == {"000-get": {BpfCode(JIT, JIT + 2, PROGRAM): b"\xeb\x00"}}
    assert len(read_bpf_code(tmp_path)["000-get"]) == 2


def test_what_was_read_as_the_case_ended_may_be_another_ones(tmp_path: Path) -> None:
    (tmp_path / "current").write_text("001-next\n")
    watch = watch_of(Looks([b"\x90\x90"]), tmp_path)

    watch.look("000-get")
    watch.write(tmp_path)

    assert read_bpf_bytes(tmp_path) == {}
    assert read_bpf_code(tmp_path) == {}


def test_nothing_was_read_where_no_file_is(tmp_path: Path) -> None:
    assert read_bpf_bytes(tmp_path) == {}
