"""Instructions by function: the plugin in the real emulator, and what is made of its counts."""

import os
import re
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from cliffwatch.failure import Failure, host_failed
from cliffwatch_runner.guest.argv import limit_emulator
from cliffwatch_runner.guest.counting import plugin as plugin_module
from cliffwatch_runner.guest.counting.bpf_names import BpfNames
from cliffwatch_runner.guest.counting.files import LARGEST_COUNTS_BYTES
from cliffwatch_runner.guest.counting.kernel_symbols import find_address, kernel_functions
from cliffwatch_runner.guest.counting.monitor import Monitor
from cliffwatch_runner.guest.counting.plugin import (
    COUNTS,
    EMULATOR,
    Counting,
    Plugin,
    counting_plugin,
    make_counting,
)
from cliffwatch_runner.guest.counting.records import AFTER, BEFORE, BOOTED, STARTED, WITHIN, read_counts

MARK, TICK, START = 0x7C60, 0x7C70, 0x7C00


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Plugin:
    built = counting_plugin(tmp_path_factory.mktemp("cache"))
    assert isinstance(built, Plugin), built
    return built


def call(at: int, to: int) -> bytes:
    return b"\xe8" + struct.pack("<h", to - (at + 3))


def machine_code() -> bytes:
    """A boot sector: the agent's start, a case whose loops run 1000, 5000 and 70 times with a reading between
    each, and its end.
    """
    code = b"\xfa\x31\xc0\x8e\xd0\xbc\x00\x7c"  # cli; ss:sp = 0:7c00
    loops = {1000: TICK, 5000: TICK, 70: MARK}
    code += call(START + len(code), MARK)
    code += call(START + len(code), MARK)
    for times, then in loops.items():
        code += b"\xb9" + struct.pack("<H", times) + b"\x49\x75\xfd"  # mov cx, times; dec cx; jnz
        code += call(START + len(code), then)
    code += b"\xba\x01\x05\xb0\x00\xee\xf4"  # out 0x501 ends the emulator
    assert len(code) <= MARK - START
    code = code.ljust(MARK - START, b"\x90") + b"\xc3"
    code = code.ljust(TICK - START, b"\x90") + b"\xc3"
    return code.ljust(510, b"\0") + b"\x55\xaa"


ACROSS = 0x7FFD
"""Three bytes before the end of a page."""


def across_pages() -> bytes:
    """A boot sector with one case: a loop of four instructions, 1000 times, whose second one lies on two
    pages.
    """
    loop = b"\x90\x83\xc3\x01\x49\x75\xf9\xc3"  # nop; add bx, 1; dec cx; jnz; ret
    code = b"\xfa\x31\xc0\x8e\xd0\xbc\x00\x7c\x8e\xd8\x8e\xc0\xfc"  # cli; ss:sp = 0:7c00; ds, es = 0; cld
    at = MARK - START - len(loop)
    code += b"\xbe" + struct.pack("<H", START + at) + b"\xbf" + struct.pack("<H", ACROSS)  # mov si; mov di
    code += b"\xb9" + struct.pack("<H", len(loop)) + b"\xf3\xa4"  # mov cx; rep movsb
    for then in (MARK, MARK):
        code += call(START + len(code), then)
    code += b"\xb9\xe8\x03" + call(START + len(code) + 3, ACROSS) + call(START + len(code) + 6, MARK)
    code += b"\xba\x01\x05\xb0\x00\xee\xf4"
    assert len(code) <= at
    code = code.ljust(at, b"\x90") + loop + b"\xc3"
    return code.ljust(TICK - START, b"\x90").ljust(510, b"\xc3") + b"\x55\xaa"


def counted(plugin: Plugin, folder: Path, windows: str, code: bytes | None = None, mark: int = MARK) -> Path:
    (folder / "disk").write_bytes(code or machine_code())
    (folder / "windows").write_text(windows)
    (folder / plugin.path.name).write_bytes(plugin.path.read_bytes())
    option = Counting(plugin=plugin, mark=mark, tick=TICK).option(folder, folder)
    machine = [
        EMULATOR,
        "-machine",
        "pc",
        "-accel",
        "tcg",
        "-icount",
        "shift=0,sleep=off",
        "-display",
        "none",
    ]
    disk = ["-drive", f"file={folder / 'disk'},format=raw", "-device", "isa-debug-exit,iobase=0x501,iosize=1"]
    ended = subprocess.run([*machine, *disk, *option.split()], timeout=120, check=False, capture_output=True)
    assert ended.returncode == 1, ended.stderr
    return folder / "counts"


def test_a_case_is_counted_before_within_and_after_its_window(plugin: Plugin, tmp_path: Path) -> None:
    counts = read_counts(counted(plugin, tmp_path, "1 2\n"))

    assert counts.marks == 3
    assert counts.notes == ()
    assert set(counts.stretches) == {BOOTED, STARTED, (1, BEFORE), (1, WITHIN), (1, AFTER)}
    for part, times in ((BEFORE, 1000), (WITHIN, 5000), (AFTER, 70)):
        stretch = counts.stretches[1, part]
        assert max(stretch.instructions) == 2 * (times - 1), (
            "the loop's block is two instructions, but for its first time"
        )
        assert 2 * times < sum(stretch.instructions) < 2 * times + 12


def test_a_case_without_a_window_is_counted_as_a_whole(plugin: Plugin, tmp_path: Path) -> None:
    counts = read_counts(counted(plugin, tmp_path, "0 0\n"))

    assert set(counts.stretches) == {BOOTED, STARTED, (1, BEFORE)}
    assert 2 * 6070 < sum(counts.stretches[1, BEFORE].instructions) < 2 * 6070 + 20


def test_an_instruction_on_two_pages_is_counted_once(plugin: Plugin, tmp_path: Path) -> None:
    """The emulator may begin to translate it as the end of one block, and then put it into one of its own."""
    counts = read_counts(counted(plugin, tmp_path, "0 0\n", across_pages()))

    assert counts.marks == 3
    assert 4 * 1000 < sum(counts.stretches[1, BEFORE].instructions) < 4 * 1000 + 20


def test_the_emulator_may_write_all_that_the_plugin_counts(tmp_path: Path) -> None:
    source = plugin_module._SOURCE.read_text()
    (mebibytes,) = re.findall(r"#define MOST_BYTES \((\d+)u << 20\)", source)
    written = subprocess.run(
        limit_emulator(["truncate", "--size", f"{mebibytes}M", str(tmp_path / COUNTS)]), check=False
    )
    assert written.returncode == 0
    assert int(mebibytes) << 20 < LARGEST_COUNTS_BYTES


LOOP, MARK_LATE = 0x7C40, 0x7D80


def many_blocks() -> bytes:
    """A boot sector with one case: a loop of 1000 times, three segments of jumps to the next one, and the loop
    5000 times, after a write to its page, for which the emulator translates it again.
    """
    code = (
        b"\xfa\x31\xc0\x8e\xd0\xbc\x00\x7c\x8e\xd8\xeb\x40"  # cli; ss:sp = 0:7c00; ds = 0; jmp over the loop
    )
    code = code.ljust(LOOP - START, b"\x90") + b"\x49\x75\xfd\xc3"  # dec cx; jnz; ret
    code = code.ljust(0x4C, b"\x90")
    for then in (MARK_LATE, MARK_LATE):
        code += call(START + len(code), then)
    code += b"\xb9\xe8\x03" + call(START + len(code) + 3, LOOP)
    for segment in (0x1000, 0x2000, 0x3000):
        code += b"\xb8" + struct.pack("<H", segment) + b"\x8e\xc0\x31\xff\xb8\xeb\x00"  # es:di; ax = jmp +0
        code += b"\xb9\xff\x7f\xfc\xf3\xab"  # mov cx, 7fff; cld; rep stosw
        code += b"\x26\xc6\x06\xfe\xff\xcb\x9a\x00\x00" + struct.pack("<H", segment)  # retf; call far
    code += (
        b"\xa0" + struct.pack("<H", LOOP) + b"\xa2" + struct.pack("<H", LOOP)
    )  # mov al, [loop]; mov [loop], al
    code += b"\xb9\x88\x13" + call(START + len(code) + 3, LOOP) + call(START + len(code) + 6, MARK_LATE)
    code += b"\xba\x01\x05\xb0\x00\xee\xf4"  # out 0x501 ends the emulator
    assert len(code) <= MARK_LATE - START
    return code.ljust(MARK_LATE - START, b"\x90").ljust(510, b"\xc3") + b"\x55\xaa"


def test_known_code_is_counted_also_when_there_is_no_room_for_new_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = plugin_module._SOURCE.read_text()
    small = tmp_path / "counts.c"
    small.write_text(source.replace("#define MOST_CHUNKS 64u", "#define MOST_CHUNKS 1u"))
    monkeypatch.setattr(plugin_module, "_SOURCE", small)
    plugin = counting_plugin(tmp_path / "cache")
    assert isinstance(plugin, Plugin), plugin
    counts = read_counts(counted(plugin, tmp_path, "0 0\n", many_blocks(), mark=MARK_LATE))

    assert counts.notes == (
        "some code was not counted: the guest has more blocks of code than there are counters",
    )
    case = counts.stretches[1, BEFORE]
    assert case.times[case.addresses == LOOP].sum() == 6000


def test_the_plugin_is_built_once(plugin: Plugin) -> None:
    cache = plugin.path.parents[2]
    before = plugin.path.stat().st_mtime_ns

    assert counting_plugin(cache) == plugin
    assert plugin.path.stat().st_mtime_ns == before


def test_a_host_without_a_compiler_has_no_plugin_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    emulator = shutil.which(EMULATOR)
    assert emulator is not None
    (tmp_path / "bin" / EMULATOR).symlink_to(emulator)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))

    assert counting_plugin(tmp_path / "cache") == host_failed(
        "there is no C compiler (gcc) on this host", "install gcc"
    )


def test_a_source_that_does_not_compile_is_said_with_its_first_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gcc").write_text("#!/bin/sh\necho 'counts.c:1: error: no luck' >&2; exit 1\n")
    (tmp_path / "gcc").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    failure = counting_plugin(tmp_path / "cache")

    assert isinstance(failure, Failure)
    assert failure.message == "the counting plugin does not compile: counts.c:1: error: no luck"
    assert not (tmp_path / "cache" / "plugins").exists()


MAP = b"""ffffffff81000000 T _stext
ffffffff81000000 T _text
ffffffff81000010 T __alias
ffffffff81000010 T named
ffffffff81000020 t twice
ffffffff81000030 t __pfx_twice
ffffffff81000040 t twice
ffffffff81000050 T timerslack_ns_write
ffffffff81000060 T it_real_fn
ffffffff81000070 T _etext
ffffffff82000000 d data
"""


def test_functions_of_a_kernel_have_one_name_each() -> None:
    functions = kernel_functions(MAP)

    assert [(each.start & 0xFF, each.end & 0xFF, each.name) for each in functions] == [
        (0x10, 0x20, "named"),
        (0x20, 0x40, "twice"),
        (0x40, 0x50, "twice@2"),
        (0x50, 0x60, "timerslack_ns_write"),
        (0x60, 0x70, "it_real_fn"),
    ]


@pytest.mark.parametrize(
    "odd", [b"", b"\xff\xfe", b"ffffffff81000000 T _stext\n", MAP.replace(b"_etext", b"other")]
)
def test_a_map_that_is_none_has_no_functions(odd: bytes) -> None:
    assert kernel_functions(odd) == ()


def test_a_symbol_that_a_kernel_has_twice_has_no_address() -> None:
    assert find_address(MAP, "twice") is None
    assert find_address(MAP, "named") == 0xFFFFFFFF81000010


def test_a_kernel_without_the_functions_that_say_when_is_not_counted(tmp_path: Path) -> None:
    plugin = Plugin(path=tmp_path / "counts.so", counter="")

    without = make_counting(tmp_path, plugin)
    assert isinstance(without, Failure)
    assert without.message == "it has no System.map, which is needed to map addresses to functions"
    (tmp_path / "System.map").write_bytes(MAP.replace(b"it_real_fn", b"other"))
    incomplete = make_counting(tmp_path, plugin)
    assert isinstance(incomplete, Failure)
    assert incomplete.message == "its System.map has no it_real_fn, which is needed to tell cases apart"
    (tmp_path / "System.map").write_bytes(MAP)
    assert make_counting(tmp_path, plugin) == Counting(
        plugin=plugin, mark=0xFFFFFFFF81000050, tick=0xFFFFFFFF81000060
    )


def words(*numbers: int) -> bytes:
    return struct.pack(f"<{len(numbers)}I", *numbers)


BLOCKS = words(ord("B"), 0, 2, 0x1000, 0, 3, 0x2000, 0xFFFFFFFF, 5)


@pytest.mark.parametrize(
    "file",
    [
        b"",
        b"\x01",
        words(ord("B"), 0, 0xFFFFFFFF, 1),
        words(ord("B"), 7, 1, 1, 2, 3),
        BLOCKS + words(ord("C"), 1, 0, 0xFFFFFFFF),
        BLOCKS + words(ord("C"), 1, 0, 1, 99, 1),
        words(7, 7, 7),
        os.urandom(4096),
    ],
)
def test_a_file_that_a_hostile_guest_wrote_gives_nothing(tmp_path: Path, file: bytes) -> None:
    (tmp_path / "counts").write_bytes(file)

    counts = read_counts(tmp_path / "counts")

    assert sum(int(each.instructions.sum()) for each in counts.stretches.values()) == 0
    assert counts.marks is None


def test_counts_that_no_guest_reaches_are_left_out(tmp_path: Path) -> None:
    huge = words(ord("B"), 0, 1, 0x1000, 0, 0xFFFFFFFF)
    (tmp_path / "counts").write_bytes(huge + words(ord("C"), 1, 0, 1, 0, 0xFFFFFFFF) + words(ord("E"), 3, 3))

    counts = read_counts(tmp_path / "counts")

    assert counts.stretches[1, BEFORE].instructions.tolist() == []
    assert len(counts.notes) == 2


def test_an_emulator_that_is_not_there_has_no_names(tmp_path: Path) -> None:
    assert BpfNames(Monitor(tmp_path), 0xFFFFFFFF82000000).now() == ()
