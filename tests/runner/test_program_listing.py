"""BPF programs as instructions: names in the place of what differs from boot to boot, and how two of them
differ.
"""

import struct
import time
from collections.abc import Mapping

import pytest

from cliffwatch_runner.build.code.program_listing import Neighbour, ProgramListing
from cliffwatch_runner.build.code.symbols import read_names
from cliffwatch_runner.results.instruction_difference import instruction_difference

JIT = 0xFFFFFFFFA0000000
MAP = b"""0000000000000000 D __per_cpu_start
00000000000152c0 D this_cpu_off
000000000002b6c0 D pcpu_hot
000000000002d858 D __per_cpu_end
ffffffff81000000 T _stext
ffffffff81000100 T helper
ffffffff81000200 T _etext
ffffffff82000000 D counter
ffffffff82000100 D _end
"""
OTHER_MAP = MAP.replace(b"ffffffff81000100", b"ffffffff81000180").replace(
    b"000000000002b6c0", b"000000000002b700"
)


def place(target: int, following: int) -> bytes:
    return struct.pack("<i", target - following)


def listed(
    code: bytes, start: int = JIT, *, symbols: bytes = MAP, neighbours: tuple[Neighbour, ...] = ()
) -> list[str]:
    return ProgramListing(read_names(symbols)).lines(start, code, neighbours)


def program(start: int, *, helper: int, memory: int, cpu: int, other: int) -> bytes:
    """As one boot of one kernel makes it: a map, a helper, a variable of the CPU, another program."""
    code = b"\x48\xbf" + struct.pack("<Q", memory)
    code += b"\x48\xbe" + struct.pack("<Q", memory + 8)
    code += b"\x48\xba" + struct.pack("<Q", memory)
    code += b"\xe8" + place(helper, start + len(code) + 5)
    code += b"\xb8" + struct.pack("<I", cpu)
    code += b"\x65\x48\x03\x04\x25" + struct.pack("<I", 0x152C0)
    code += b"\x48\xc7\xc1" + struct.pack("<i", 0xFFFFFFFF82000010 - (1 << 64))
    code += b"\x75\xee"  # to where the CPU's place is added
    code += b"\xe8" + place(other, start + len(code) + 5)
    return code + b"\xc3"


LINES = [
    "movabs rdi, <memory 1>",
    "movabs rsi, <memory 2>",
    "movabs rdx, <memory 1>",
    "call helper",
    "mov eax, pcpu_hot+18",
    "add rax, qword ptr gs:[this_cpu_off]",
    "mov rcx, counter+10",
    "jne #5",
    "call sub",
    "ret",
]


def test_what_differs_from_boot_to_boot_has_names() -> None:
    first = program(
        JIT + 0x100, helper=0xFFFFFFFF81000100, memory=0xFFFF888004001000, cpu=0x2B6D8, other=JIT + 0x800
    )

    assert listed(first, JIT + 0x100, neighbours=((JIT + 0x800, JIT + 0x900, "sub"),)) == LINES


def test_another_boot_of_another_build_reads_the_same() -> None:
    other = program(
        JIT + 0x704, helper=0xFFFFFFFF81000180, memory=0xFFFFC90000042000, cpu=0x2B718, other=JIT + 0x40
    )

    assert (
        listed(other, JIT + 0x704, symbols=OTHER_MAP, neighbours=((JIT + 0x40, JIT + 0x90, "sub"),)) == LINES
    )


@pytest.mark.parametrize(
    ("code", "line"),
    [
        (b"\x48\xbf" + struct.pack("<Q", 0x8000000000000000), "movabs rdi, 0x8000000000000000"),
        (b"\x48\xc7\xc0\xff\xff\xff\xff", "mov rax, 0xffffffffffffffff"),
        (b"\xbf\x78\x56\x34\x12", "mov edi, 0x12345678"),
        (b"\x81\xc7\x78\x56\x34\x12", "add edi, 0x12345678"),
        (b"\xe8" + place(JIT + 0x5000, JIT + 5), "call <run-time code>"),
        (b"\xe8" + place(0xFFFFFFFF81000123, JIT + 5), "call helper+23"),
        (b"\x65\x48\x8b\x04\x25\xd8\xb6\x02\x00", "mov rax, qword ptr gs:[pcpu_hot+18]"),
        (b"\x41\xb8\x00\x00\x10\x00\x65\x4c\x03\x04\x25\xc0\x52\x01\x00", "mov r8d, <memory of the CPU>"),
        (b"\x41\xb8\x00\x00\x10\x00", "mov r8d, 0x100000"),
        (b"\x75\xff", "jne <program+1>"),
    ],
    ids=[
        "large",
        "minus one",
        "number",
        "sum",
        "module",
        "within",
        "of the CPU",
        "of the CPU at run time",
        "no CPU",
        "into itself",
    ],
)
def test_numbers_stay_and_addresses_do_not(code: bytes, line: str) -> None:
    assert listed(code)[0] == line


def test_a_number_is_not_taken_for_another_ones_variable() -> None:
    """What is added to another register than the one that was loaded is no variable's place."""
    code = b"\x41\xb8\xd8\xb6\x02\x00" + b"\x65\x48\x03\x04\x25\xc0\x52\x01\x00"

    assert listed(code) == ["mov r8d, 0x2b6d8", "add rax, qword ptr gs:[this_cpu_off]"]


@pytest.mark.parametrize("code", [b"", b"\x06\x07", b"\xff" * 100, bytes(range(256)) * 8])
@pytest.mark.parametrize("symbols", [b"", MAP])
def test_what_is_no_code_is_listed_all_the_same(code: bytes, symbols: bytes) -> None:
    assert len(listed(code, symbols=symbols)) >= bool(code)


BASE = ("push rbp", "test rax, rax", "je #4", "call helper", "mov rdi, rax", "jne #1", "leave", "ret")
CHANGES: Mapping[str, tuple[tuple[str, ...], list[str]]] = {
    "the same": (BASE, []),
    "one more": (
        (
            "push rbp",
            "nop",
            "test rax, rax",
            "je #5",
            "call helper",
            "mov rdi, rax",
            "jne #2",
            "leave",
            "ret",
        ),
        ["@@ -1,0 +2 @@", "+nop"],
    ),
    "one less": (
        ("push rbp", "test rax, rax", "je #3", "mov rdi, rax", "jne #1", "leave", "ret"),
        ["@@ -4 +3,0 @@", "-call helper"],
    ),
    "elsewhere": (
        ("push rbp", "test rax, rax", "je #6", "call helper", "mov rdi, rax", "jne #1", "leave", "ret"),
        ["@@ -3 +3 @@", "-je #4", "+je #6"],
    ),
    "to what is new": (
        (
            "push rbp",
            "test rax, rax",
            "je #4",
            "call helper",
            "nop",
            "mov rdi, rax",
            "jne #1",
            "leave",
            "ret",
        ),
        ["@@ -3 +3 @@", "-je #4", "+je #+4", "@@ -4,0 +5 @@", "+nop"],
    ),
    "all other": (("int3",), ["@@ -1,8 +1 @@", *(f"-{line}" for line in BASE), "+int3"]),
}


@pytest.mark.parametrize("change", CHANGES)
def test_jumps_that_only_go_farther_are_no_difference(change: str) -> None:
    head, lines = CHANGES[change]

    assert instruction_difference(BASE, head) == lines


def test_long_programs_that_have_nothing_in_common_are_listed_in_no_time() -> None:
    base = [f"mov eax, {number % 101}" for number in range(60_000)]
    head = [f"mov eax, {number * 7 % 101}" for number in range(60_000)]
    began = time.monotonic()

    lines = instruction_difference(base, head)

    assert len(lines) > 100_000
    assert time.monotonic() - began < 30


def test_a_change_in_a_long_program_is_found_between_what_is_alike() -> None:
    base = [f"mov eax, {number}" for number in range(60_000)]
    head = [*base[:30_000], "nop", *base[30_000:]]

    assert instruction_difference(base, head) == ["@@ -30000,0 +30001 @@", "+nop"]
