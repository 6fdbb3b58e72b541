"""The function counts of a boot: functions of the kernel, of BPF programs and of user space, case by case."""

import json
import struct
from collections.abc import Sequence
from pathlib import Path

import pytest

from cliffwatch.catalogue.load import load_catalogue
from cliffwatch.formats.code.bpf_programs import BpfProgramsRecord, CaseBpfPrograms
from cliffwatch.formats.code.function_counts import CaseCounts, FunctionCountsRecord
from cliffwatch.formats.reading import document_text, read_as
from cliffwatch.samples import CaseOutcome
from cliffwatch_runner.guest.boot_end import BootEnd
from cliffwatch_runner.guest.counting.name_watch import BEFORE
from cliffwatch_runner.plan.plan import Plan
from cliffwatch_runner.plan.selection import select_cases
from cliffwatch_runner.results import user_names
from cliffwatch_runner.results.bpf_code import BPF_PROGRAMS
from cliffwatch_runner.results.function_counts import write_function_counts
from cliffwatch_runner.results.outcomes import CaseResult, PartEnd, case_name

MAP = """ffffffff81000000 T _stext
ffffffff81000010 t idle
ffffffff81000020 t lookup
ffffffff81000040 t lookup
ffffffff81000070 T _etext
"""
KERNEL, TWIN, JIT, STRAY = 0xFFFFFFFF81000024, 0xFFFFFFFF81000044, 0xFFFFFFFFA0000010, 0xFFFFFFFFA0009000
PROGRAM, LIBRARY, TABLES = 0x555555555000, 0x7FFFF7DD0000, 0xFFFFFE0000001000
ADDRESSES = (KERNEL, TWIN, JIT, STRAY, PROGRAM, LIBRARY, TABLES)
CASES = select_cases(
    tuple(suite for suite in load_catalogue().suites if suite.name == "local-storage"),
    "smoke",
    offered=None,
    release=(6, 12),
    mode="icount",
    cpus=1,
    memory_mib=None,
).cases[:2]


def words(*numbers: int) -> bytes:
    return struct.pack(f"<{len(numbers)}I", *numbers)


def counts(number: int, part: int, **times: int) -> bytes:
    slots = {"kernel": 0, "twin": 1, "jit": 2, "stray": 3, "program": 4, "library": 5, "tables": 6}
    entries = [word for name, count in times.items() for word in (slots[name], count)]
    return words(ord("C"), number, part, len(times), *entries)


def blocks() -> bytes:
    rows = [word for address in ADDRESSES for word in (address & 0xFFFFFFFF, address >> 32, 10)]
    return words(ord("B"), 0, len(ADDRESSES), *rows)


def part_of(home: Path, content: bytes, statuses: tuple[str, ...] = ("ok", "ok")) -> PartEnd:
    folder = home / "1"
    folder.mkdir(parents=True)
    (folder / "counts").write_bytes(content)
    code = {case_name(0, CASES[0]): [[JIT - 16, JIT + 16, "bpf_prog_0123456789abcdef_get_local"]]}
    (folder / "bpf-code").write_text(json.dumps(code))
    end = BootEnd(status="complete", seconds=1.0, last_case=None, splats=(), evidence="", unexpected_files=())
    results = {
        index: CaseResult(outcome=CaseOutcome(case=CASES[index].key, status=status))  # type: ignore[arg-type]
        for index, status in enumerate(statuses)
    }
    return PartEnd(end=end, cases=tuple(range(len(statuses))), results=results)


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    (tmp_path / "kernel").mkdir()
    (tmp_path / "kernel" / "System.map").write_text(MAP)
    return tmp_path / "kernel"


def functions_of(document: FunctionCountsRecord, case: CaseCounts) -> dict[str, int]:
    return {
        f"{document.functions[place].object}:{document.functions[place].name}": count
        for place, count in case.counts
    }


def counted(home: Path, parts: Sequence[PartEnd], kernel: Path, counter: str) -> FunctionCountsRecord | None:
    return write_function_counts(
        home, Plan(cases=CASES, boots=(), seed=1, notable=None), parts, kernel, counter
    )


def programs_of(home: Path, parts: Sequence[PartEnd], kernel: Path) -> Sequence[CaseBpfPrograms]:
    counted(home, parts, kernel, "QEMU 7.2")
    record = read_as((home / BPF_PROGRAMS).read_bytes(), BpfProgramsRecord)
    assert isinstance(record, BpfProgramsRecord)
    return record.cases


WHOLE = (
    blocks()
    + counts(0, 0, kernel=1)
    + counts(1, 0, twin=2, program=9)
    + counts(1, 1, kernel=5, jit=6, stray=1, program=2, library=3, tables=4)
    + counts(1, 2, library=1)
    + counts(2, 0, twin=1)
    + counts(2, 1, kernel=7, jit=1)
    + words(ord("E"), 0, 5)
)


def test_a_case_has_the_functions_of_its_window(tmp_path: Path, kernel: Path) -> None:
    part = part_of(tmp_path / "boot", WHOLE)

    document = counted(tmp_path / "boot", [part], kernel, "QEMU 7.2")

    assert document is not None
    first, second = document.cases
    assert functions_of(document, first) == {
        "bpf:get_local": 60,
        "kernel:lookup": 50,
        "kernel:kernel code without a name": 40,
        "user:shared libraries": 30,
        "user:programs": 20,
        "kernel:run-time code without a name": 10,
    }
    assert first.seconds == CASES[0].duration
    assert [document.functions[place].name for place in document.started] == ["lookup"]
    executed = {document.functions[place].name for place in first.executed}
    assert {"lookup", "lookup@2", "get_local", "programs"} <= executed, (
        "what only the set-up executes is there too"
    )
    assert functions_of(document, second) == {"kernel:lookup": 70, "kernel:run-time code without a name": 10}
    assert read_as(document_text(document), FunctionCountsRecord) == document


def test_calls_are_the_executions_of_what_begins_where_a_function_does(tmp_path: Path, kernel: Path) -> None:
    """An emulator that stops to count cuts blocks short, so that several begin there."""
    entry, later, program = KERNEL - 4, KERNEL, JIT - 16
    placed = [(entry, 10), (entry, 3), (later, 7), (program, 5)]
    rows = [word for address, length in placed for word in (address & 0xFFFFFFFF, address >> 32, length)]
    content = (
        words(ord("B"), 0, len(placed), *rows)
        + words(ord("C"), 1, 0, 1, 0, 100)
        + words(ord("C"), 1, 1, 4, 0, 20, 1, 2, 2, 9, 3, 6)
        + words(ord("E"), 0, 3)
    )
    part = part_of(tmp_path / "boot", content, statuses=("ok",))

    document = counted(tmp_path / "boot", [part], kernel, "QEMU 7.2")

    assert document is not None
    (case,) = document.cases
    assert {document.functions[place].name: times for place, times in case.calls} == {
        "lookup": 22,
        "get_local": 6,
    }


def test_user_space_is_a_row_for_each_object_that_is_known(tmp_path: Path, kernel: Path) -> None:
    part = part_of(tmp_path / "boot", WHOLE)
    objects = {
        case_name(0, CASES[0]): [
            [PROGRAM - 0x100, PROGRAM + 0x1000, "anonymous memory"],
            [PROGRAM, PROGRAM + 0x1000, "bench"],
            [PROGRAM, PROGRAM + 0x2000, "dash"],
            [LIBRARY, LIBRARY + 0x1000, "anonymous memory"],
        ]
    }
    (tmp_path / "boot" / "1" / "user-objects").write_text(json.dumps(objects))

    document = counted(tmp_path / "boot", [part], kernel, "QEMU 7.2")

    assert document is not None
    functions = functions_of(document, document.cases[0])
    assert {name: count for name, count in functions.items() if name.startswith("user:")} == {
        "user:bench": 20,
        "user:anonymous memory": 30,
    }, "what was seen most often comes first; anonymous memory is what no object is"


def test_code_that_another_process_executed_first_is_counted_at_its_addresses_there(
    tmp_path: Path, kernel: Path
) -> None:
    """QEMU 8 and newer translate a file's code once for all processes: where its own objects are not, those
    of other cases and of the start are.
    """
    part = part_of(tmp_path / "boot", WHOLE)
    objects = {
        BEFORE: [[LIBRARY, LIBRARY + 0x1000, "libc.so.6"]],
        case_name(0, CASES[0]): [[PROGRAM + 0x5000, PROGRAM + 0x6000, "bench"]],
        case_name(1, CASES[1]): [[PROGRAM, PROGRAM + 0x1000, "bench"]],
    }
    (tmp_path / "boot" / "1" / "user-objects").write_text(json.dumps(objects))

    document = counted(tmp_path / "boot", [part], kernel, "QEMU 10.0")

    assert document is not None
    assert {"user:bench": 20, "user:libc.so.6": 30}.items() <= functions_of(
        document, document.cases[0]
    ).items()


def test_programs_at_one_address_are_named_by_those_of_their_own_case_alone(
    tmp_path: Path, kernel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Programs that cannot be moved all lie at one address."""
    monkeypatch.setattr(user_names, "_DRAWN", LIBRARY)
    part = part_of(tmp_path / "boot", WHOLE)
    of_the_other = {case_name(1, CASES[1]): [[PROGRAM, PROGRAM + 0x1000, "bench"]]}
    (tmp_path / "boot" / "1" / "user-objects").write_text(json.dumps(of_the_other))

    document = counted(tmp_path / "boot", [part], kernel, "QEMU 7.2")

    assert document is not None
    assert {"user:programs", "user:shared libraries"} <= functions_of(document, document.cases[0]).keys()


def test_a_case_that_failed_has_none(tmp_path: Path, kernel: Path) -> None:
    part = part_of(tmp_path / "boot", WHOLE, ("failed", "ok"))

    document = counted(tmp_path / "boot", [part], kernel, "")

    assert document is not None
    assert [case.case for case in document.cases] == [CASES[1].key]


@pytest.mark.parametrize(
    ("end", "note"),
    [
        (words(ord("E"), 0, 9), "its cases cannot be distinguished, with 9 marks for 2 cases"),
        (b"", "the emulator ended before writing them"),
        (words(ord("E"), 1, 5), "some code was not counted"),
    ],
)
def test_counts_that_cannot_be_believed_are_said(tmp_path: Path, kernel: Path, end: bytes, note: str) -> None:
    part = part_of(tmp_path / "boot", WHOLE[: -len(words(0, 0, 0))] + end)

    document = counted(tmp_path / "boot", [part], kernel, "")

    assert document is not None
    assert any(note in each for each in document.notes), document.notes


def test_a_boot_that_was_not_counted_has_none(tmp_path: Path, kernel: Path) -> None:
    part = part_of(tmp_path / "boot", b"")
    (tmp_path / "boot" / "1" / "counts").unlink()

    assert counted(tmp_path / "boot", [part], kernel, "") is None


def test_code_that_made_room_for_other_code_has_no_part_in_its_counts(tmp_path: Path, kernel: Path) -> None:
    """A program of the set-up, seen once, lay where the benchmark's own one lies, seen again and again."""
    part = part_of(tmp_path / "boot", WHOLE)
    now, before = (
        (JIT - 16, JIT + 16, "bpf_prog_0123456789abcdef_now"),
        (JIT - 64, JIT + 8, "bpf_prog_0123456789abcdef_before"),
    )
    (tmp_path / "boot" / "1" / "bpf-code").write_text(json.dumps({case_name(0, CASES[0]): [now, before]}))

    document = counted(tmp_path / "boot", [part], kernel, "")

    assert document is not None
    assert functions_of(document, document.cases[0])["bpf:now"] == 60


GET, STALE, TRAMPOLINE = (
    (JIT - 16, JIT + 16, "bpf_prog_0123456789abcdef_get"),
    (JIT + 0x100, JIT + 0x110, "bpf_prog_fedcba9876543210_probe"),
    (JIT + 0x200, JIT + 0x240, "bpf_trampoline_6442467083"),
)


def with_code(home: Path) -> None:
    name = case_name(0, CASES[0])
    (home / "1" / "bpf-code").write_text(json.dumps({name: [GET, STALE, TRAMPOLINE]}))
    read = [[*GET, "90" * 32], [*STALE, "c3" * 16]]
    (home / "1" / "bpf-bytes").write_text(json.dumps({name: read}))


def test_the_code_of_programs_is_kept_with_what_of_it_was_measured(tmp_path: Path, kernel: Path) -> None:
    part = part_of(tmp_path / "boot", WHOLE)
    with_code(tmp_path / "boot")

    (case,) = programs_of(tmp_path / "boot", [part], kernel)

    assert case.case == CASES[0].key
    assert [(each.function, each.executed, each.bytes, each.code) for each in case.pieces] == [
        ("get", True, 32, b"\x90" * 32),
        ("probe", False, 16, b"\xc3" * 16),
        ("bpf_trampoline", False, 64, None),
    ]
    assert case.pieces[0].address == f"{JIT - 16:016x}"


def test_programs_of_a_boot_whose_counts_cannot_be_believed_are_kept(tmp_path: Path, kernel: Path) -> None:
    part = part_of(tmp_path / "boot", WHOLE[: -len(words(0, 0, 0))])
    with_code(tmp_path / "boot")

    (case,) = programs_of(tmp_path / "boot", [part], kernel)

    assert [each.executed for each in case.pieces] == [None, None, None]
    assert case.pieces[0].code == b"\x90" * 32


def test_a_boots_files_are_made_of_what_was_read_and_take_its_place(tmp_path: Path, kernel: Path) -> None:
    home = tmp_path / "boot"
    part = part_of(home, WHOLE)
    with_code(home)

    assert len(programs_of(home, [part], kernel)) == 1
    assert isinstance(
        read_as((home / "functions.json").read_bytes(), FunctionCountsRecord), FunctionCountsRecord
    )
    assert sorted(path.name for path in (home / "1").iterdir()) == []


def test_a_boot_in_which_nothing_was_read_has_no_such_file(tmp_path: Path, kernel: Path) -> None:
    home = tmp_path / "boot"
    part = part_of(home, WHOLE)
    (home / "1" / "bpf-code").unlink()

    write_function_counts(home, Plan(cases=CASES, boots=(), seed=1, notable=None), [part], kernel, "")

    assert not (home / BPF_PROGRAMS).exists()
