"""What lies where in a guest's process, read out of its memory: a program, its libraries, and what a hostile
guest puts in their place.
"""

import struct
from collections.abc import Sequence
from pathlib import Path

import pytest

from cliffwatch_runner.guest.counting.monitor import Monitor
from cliffwatch_runner.guest.counting.user_objects import HEADER_BYTES, MappedObject, UserObjects
from cliffwatch_runner.guest.programs import GuestPrograms

PAGE = 0x1000
MAIN, LIBRARY, VDSO, LINKER, HEAP = (
    0x555555554000,
    0x7F0000400000,
    0x7FFF10000000,
    0x7F0000800000,
    0x555555600000,
)
LOAD, DYNAMIC, DEBUG = 1, 2, 21
SHARED, EXECUTABLE = 3, 2


def elf(kind: int, loads: Sequence[tuple[int, int]], dynamic: int | None = None) -> bytes:
    """The beginning of a file: its segments by address and bytes."""
    rows = [(LOAD, begin, size) for begin, size in loads] + (
        [] if dynamic is None else [(DYNAMIC, dynamic, 0x100)]
    )
    header = b"\x7fELF\x02\x01\x01".ljust(16, b"\0") + struct.pack("<HHIQQQ", kind, 62, 1, 0, 64, 0)
    header += struct.pack("<IHHHHHH", 0, 64, 56, len(rows), 64, 0, 0)
    return header + b"".join(
        struct.pack("<IIQQQQQQ", what, 4, begin, begin, begin, size, size, PAGE) for what, begin, size in rows
    )


class Memory(Monitor):
    """A process's memory in the place of an emulator that shows it."""

    def __init__(self, folder: Path, pages: dict[int, bytes], ranges: Sequence[tuple[int, int]]) -> None:
        super().__init__(folder)
        self._pages = pages
        self._ranges_of_process = ranges
        self.asked = 0

    def user_ranges(self) -> Sequence[tuple[int, int]]:
        return self._ranges_of_process

    def virtual(self, address: int, count: int) -> list[int]:
        self.asked += 1
        for start, content in self._pages.items():
            if start <= address < start + PAGE:
                piece = content.ljust(PAGE, b"\0")[address - start : address - start + 8 * count]
                if len(piece) == 8 * count:
                    return list(struct.unpack(f"<{count}Q", piece))
        raise ValueError("Cannot access memory")


def link_map(moved: int, name: int, following: int) -> bytes:
    return struct.pack("<4Q", moved, name, 0, following)


LIST = HEAP
PAGES = {
    MAIN: elf(SHARED, [(0, 0x800), (PAGE, 0x5000)], dynamic=0x3000),
    MAIN + 0x3000: struct.pack("<6Q", 1, 7, DEBUG, LIST, 0, 0),
    LIST: b"".join(
        (
            struct.pack("<2Q", 1, LIST + 0x40).ljust(0x40, b"\0"),
            link_map(MAIN, LIST + 0x200, LIST + 0x80).ljust(0x40, b"\0"),
            link_map(VDSO, LIST + 0x240, LIST + 0xC0).ljust(0x40, b"\0"),
            link_map(LIBRARY, LIST + 0x280, LIST + 0x100).ljust(0x40, b"\0"),
            link_map(LINKER, LIST + 0x2C0, 0).ljust(0x100, b"\0"),
            b"\0".ljust(0x40, b"\0"),
            b"linux-vdso.so.1".ljust(0x40, b"\0"),
            b"/lib/x86_64-linux-gnu/libc.so.6".ljust(0x40, b"\0"),
            b"/lib64/ld-linux-x86-64.so.2".ljust(0x40, b"\0"),
        )
    ),
    LIBRARY: elf(SHARED, [(0, 0x1000), (0x28000, 0x190000)]),
    VDSO: elf(SHARED, [(0, 0x90F)]),
    LINKER: elf(SHARED, [(0, 0x37000)]),
}
RANGES = [
    (MAIN, MAIN + 0x6000),
    (HEAP, HEAP + PAGE),
    (LIBRARY, LIBRARY + 0x2000),
    (VDSO - PAGE, VDSO + PAGE),
    (VDSO + 0x5000, VDSO + 0x7000),
]
PROGRAMS = {PAGES[MAIN][:HEADER_BYTES]: "bench"}


def test_a_process_is_its_program_libraries_and_the_rest(tmp_path: Path) -> None:
    assert UserObjects(Memory(tmp_path, PAGES, RANGES), PROGRAMS).now() == (
        MappedObject(MAIN, MAIN + 0x6000, "bench"),
        MappedObject(VDSO, VDSO + PAGE, "[vdso]"),
        MappedObject(LIBRARY, LIBRARY + 0x1B8000, "libc.so.6"),
        MappedObject(LINKER, LINKER + 0x37000, "ld-linux-x86-64.so.2"),
        MappedObject(HEAP, HEAP + PAGE, "anonymous memory"),
        MappedObject(VDSO - PAGE, VDSO, "anonymous memory"),
        MappedObject(VDSO + 0x5000, VDSO + 0x7000, "anonymous memory"),
    )


def test_a_program_that_the_host_did_not_give_has_no_name(tmp_path: Path) -> None:
    """A shell of the guest's root; its libraries say what they are all the same."""
    objects = UserObjects(Memory(tmp_path, PAGES, RANGES), {}).now()

    assert [each.name for each in objects[:3]] == ["[vdso]", "libc.so.6", "ld-linux-x86-64.so.2"]
    assert all(each.end <= MAIN or each.start >= MAIN + 0x6000 for each in objects)


def test_a_static_program_is_one_object(tmp_path: Path) -> None:
    static = elf(EXECUTABLE, [(0x400000, 0x200000), (0x600000, 0x150800)])
    memory = Memory(tmp_path, {0x400000: static}, [(0x400000, 0x410000), (0xC000000000, 0xC000400000)])

    assert UserObjects(memory, {static[:HEADER_BYTES]: "syscalls"}).now() == (
        MappedObject(0x400000, 0x751000, "syscalls"),
        MappedObject(0xC000000000, 0xC000400000, "anonymous memory"),
    )


def test_the_vdso_of_a_static_program_is_found_where_the_kernel_maps_it(tmp_path: Path) -> None:
    """Go asks it for the time."""
    static = elf(EXECUTABLE, [(0x400000, 0x200000)])
    pages = {0x400000: static, VDSO - PAGE: b"time", VDSO: PAGES[VDSO], VDSO + 0x5000: b"stack"}
    ranges = [(0x400000, 0x410000), (0xC000000000, 0xC000400000), *RANGES[3:]]

    assert UserObjects(Memory(tmp_path, pages | {VDSO + 0x6000: b"stack"}, ranges), {}).now()[:2] == (
        MappedObject(VDSO, VDSO + PAGE, "[vdso]"),
        MappedObject(0xC000000000, 0xC000400000, "anonymous memory"),
    )


def test_a_stack_of_gigabytes_is_looked_through_to_a_limit(tmp_path: Path) -> None:
    static = elf(EXECUTABLE, [(0x400000, 0x200000)])
    stack = {LIBRARY + PAGE * place: b"stack" for place in range(300)}
    memory = Memory(
        tmp_path, {0x400000: static} | stack, [(0x400000, 0x410000), (LIBRARY, LIBRARY + PAGE * (1 << 24))]
    )

    assert UserObjects(memory, {}).now()[0].name == "anonymous memory"
    assert memory.asked < 100


def test_a_library_whose_beginning_is_not_in_memory_makes_a_look_worthless(tmp_path: Path) -> None:
    """A page that the kernel took away: the library would pass for anonymous memory. The next look may see
    it.
    """
    pages = {start: content for start, content in PAGES.items() if start != LIBRARY}

    assert UserObjects(Memory(tmp_path, pages, RANGES), PROGRAMS).now() == ()


def test_a_guest_that_goes_to_another_process_meanwhile_is_not_believed(tmp_path: Path) -> None:
    class Switching(Memory):
        def virtual(self, address: int, count: int) -> list[int]:
            words = super().virtual(address, count)
            if address == LIST + 0x2C0:
                self._pages = {**self._pages, MAIN: elf(SHARED, [(0, 0x900)])}
            return words

    assert UserObjects(Switching(tmp_path, PAGES, RANGES), PROGRAMS).now() == ()


def test_a_list_without_an_end_is_read_to_a_limit(tmp_path: Path) -> None:
    circle = (
        PAGES[LIST][:0xC0]
        + link_map(LIBRARY, LIST + 0x280, LIST + 0xC0).ljust(0x40, b"\0")
        + PAGES[LIST][0x100:]
    )
    memory = Memory(tmp_path, PAGES | {LIST: circle}, RANGES)

    UserObjects(memory, PROGRAMS).now()

    assert memory.asked < 1000


HUGE = 0xFFFFFFFFFFFFFFFF


@pytest.mark.parametrize(
    "main",
    [
        b"",
        b"\x7fELF",
        b"\xff" * PAGE,
        elf(SHARED, [(0, HUGE)], dynamic=0x3000),
        elf(SHARED, [(HUGE, HUGE)], dynamic=HUGE),
        elf(SHARED, []),
        elf(SHARED, [(0, PAGE)] * 60),
        elf(7, [(0, PAGE)]),
    ],
    ids=[
        "nothing",
        "short",
        "ones",
        "huge-segment",
        "huge-address",
        "no-segment",
        "many-segments",
        "no-program",
    ],
)
def test_a_program_that_is_none_gives_nothing(tmp_path: Path, main: bytes) -> None:
    assert UserObjects(Memory(tmp_path, PAGES | {MAIN: main}, RANGES), PROGRAMS).now() == ()


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        (b"/lib/libevil\x1b[31m.so", "libevil??31m.so"),
        (b"/lib/<b>x</b>", "b?"),
        (b"\xff\xfe.so", "??.so"),
        (b"", "shared library without a name"),
    ],
)
def test_names_are_plain(tmp_path: Path, name: bytes, shown: str) -> None:
    named = PAGES[LIST][:0x280] + name.ljust(0x40, b"\0") + PAGES[LIST][0x2C0:]

    objects = UserObjects(Memory(tmp_path, PAGES | {LIST: named}, RANGES), PROGRAMS).now()

    assert objects[2].name == shown


def test_programs_are_named_as_in_the_guest_and_not_as_in_the_cache(tmp_path: Path) -> None:
    for name in ("bench", "file-strings", "file-words"):
        (tmp_path / name).write_bytes(name.encode() * 20)
    of_suite = {"strings": tmp_path / "file-strings", "data/words": tmp_path / "file-words"}
    programs = GuestPrograms(bench=(tmp_path / "bench",), of_suites={"string-maps": of_suite})

    assert programs.headers(6) == {b"benchb": "bench", b"file-s": "strings", b"file-w": "words"}


def test_an_emulator_that_is_not_there_shows_no_process(tmp_path: Path) -> None:
    assert UserObjects(Monitor(tmp_path), PROGRAMS).now() == ()
