"""How the code of BPF programs differs between arms: programs that were read out of real guests, and made-up
ones.
"""

import json
from pathlib import Path

import pytest

from cliffwatch.formats.boot_record import BootRecord
from cliffwatch.formats.code.bpf_programs import BpfPiece, BpfProgramsRecord, CaseBpfPrograms
from cliffwatch.formats.reading import document_text, read_as
from cliffwatch.samples import CaseKey
from cliffwatch_runner.results.program_differences import (
    ArmPrograms,
    ProgramDifferences,
    arm_programs,
    program_differences,
)
from cliffwatch_runner.sandbox.isolation import choose_guest_sandbox
from cliffwatch_runner.sandbox.sandbox import Sandbox

PLAIN = Sandbox(level="none", user=None)
SEQUENTIAL = CaseKey("local-storage", "local-storage-cache-seq-get", (("nr_maps", "16"),))
CASE = CaseKey("s", "b", (("n", "1"),))
JIT = 0xFFFFFFFFA0000000


@pytest.fixture
def recorded(data: Path) -> Path:
    return data / "bpf-programs"


def boot(run: Path, arm: str, content: bytes, number: int = 1) -> None:
    home = run / "boots" / f"{number:03d}-{arm}"
    home.mkdir(parents=True)
    about = BootRecord(
        index=number, block=0, arm=arm, began="2026-11-24T21:00", ended="2026-11-24T21:01", status="complete"
    )
    (home / "boot.json").write_bytes(document_text(about))
    (home / "bpf-programs.json").write_bytes(content)


def programs_of(run: Path, arm: str, kernel: Path, sandbox: Sandbox = PLAIN) -> ArmPrograms:
    return arm_programs(run, arm, kernel, sandbox, lambda: False)


def compared(run: Path, recorded: Path, base: str, head: str, kernel: str) -> ProgramDifferences:
    boot(run, "base", (recorded / "boots" / base / "bpf-programs.json").read_bytes(), 1)
    boot(run, "head", (recorded / "boots" / head / "bpf-programs.json").read_bytes(), 2)
    return program_differences(
        programs_of(run, "base", recorded / "kernel-base"), programs_of(run, "head", recorded / kernel)
    )


def test_two_boots_of_one_kernel_have_no_difference(tmp_path: Path, recorded: Path) -> None:
    differences = compared(tmp_path, recorded, "001-base", "003-base", "kernel-base")

    first, again = (
        (recorded / "boots" / name / "bpf-programs.json").read_text() for name in ("001-base", "003-base")
    )
    assert first != again, "programs lay elsewhere"
    assert differences.programs == ()
    assert len(differences.cases) == 7
    assert all(case.base == case.head and case.names == 2 for case in differences.cases)


def test_a_longer_prologue_is_one_instruction_more_of_every_program(tmp_path: Path, recorded: Path) -> None:
    """And the jumps behind it, which all go to other addresses, are none."""
    differences = compared(tmp_path, recorded, "001-base", "002-head", "kernel-head")

    sizes = {(each.name, each.base, each.head, len(each.cases)) for each in differences.programs}
    assert sizes == {
        ("get_local", 188, 191, 7),
        ("loop", 275, 278, 3),
        ("loop", 320, 323, 2),
        ("loop", 446, 449, 2),
    }
    for each in differences.programs:
        assert each.lines == ("@@ -5,0 +6 @@", "+nop dword ptr [rax]")
        assert each.head_instructions == each.base_instructions + 1
    assert all(case.base != case.head for case in differences.cases)


def test_a_program_is_listed_with_names(tmp_path: Path, recorded: Path) -> None:
    boot(tmp_path, "base", (recorded / "boots/001-base/bpf-programs.json").read_bytes())

    (loop,) = programs_of(tmp_path, "base", recorded / "kernel-base")[SEQUENTIAL]["loop"]
    (get,) = programs_of(tmp_path, "base", recorded / "kernel-base")[SEQUENTIAL]["get_local"]

    assert "call bpf_task_storage_get_recur" in loop.lines
    assert "movabs rdi, <memory 1>" in loop.lines
    assert "call loop" in get.lines
    assert not any(
        "ffffffff" in line or "ffff88" in line
        for line in (*loop.lines, *get.lines)
        if "0xfffffff9" not in line
    )


@pytest.mark.namespaces
def test_programs_are_listed_in_the_sandbox(tmp_path: Path, recorded: Path) -> None:
    sandbox = choose_guest_sandbox("auto")
    assert isinstance(sandbox, Sandbox)
    boot(tmp_path, "base", (recorded / "boots/001-base/bpf-programs.json").read_bytes())

    inside = programs_of(tmp_path, "base", recorded / "kernel-base", sandbox)

    assert inside == programs_of(tmp_path, "base", recorded / "kernel-base")


def piece(code: bytes | None, *, at: int = JIT, name: str = "get", executed: bool | None = True) -> BpfPiece:
    return BpfPiece(
        address=f"{at:016x}",
        bytes=16 if code is None else len(code),
        name=f"bpf_prog_0123456789abcdef_{name}",
        function=name,
        executed=executed,
        code=code,
    )


def record(*pieces: BpfPiece) -> bytes:
    case = CaseBpfPrograms(
        suite=CASE.suite, benchmark=CASE.benchmark, params=dict(CASE.params), pieces=pieces
    )
    return document_text(BpfProgramsRecord(cases=(case,)))


NOP, RET = b"\x90", b"\xc3"


def differences(tmp_path: Path, recorded: Path, base: list[bytes], head: list[bytes]) -> ProgramDifferences:
    """Of runs in which every boot of an arm has one record."""
    for number, content in enumerate(base):
        boot(tmp_path, "base", content, number + 1)
    for number, content in enumerate(head):
        boot(tmp_path, "head", content, 100 + number)
    kernel = recorded / "kernel-base"
    return program_differences(programs_of(tmp_path, "base", kernel), programs_of(tmp_path, "head", kernel))


def test_programs_of_one_name_are_compared_whatever_their_order(tmp_path: Path, recorded: Path) -> None:
    base = record(piece(NOP + RET), piece(RET, at=JIT + 64))
    head = record(piece(RET), piece(NOP + RET, at=JIT + 64))

    assert differences(tmp_path, recorded, [base], [head]).programs == ()


def test_boots_of_base_that_do_not_agree_are_no_change_of_head(tmp_path: Path, recorded: Path) -> None:
    one, other = record(piece(NOP + RET)), record(piece(RET))

    assert differences(tmp_path, recorded, [one, other], [other]).programs == ()


def test_what_head_alone_makes_is_a_change(tmp_path: Path, recorded: Path) -> None:
    found = differences(tmp_path, recorded, [record(piece(RET))] * 2, [record(piece(NOP + RET))])

    (each,) = found.programs
    assert (each.name, each.base, each.head, each.lines) == ("get", 1, 2, ("@@ -0,0 +1 @@", "+nop"))
    assert found.cases[0].base != found.cases[0].head


@pytest.mark.parametrize(
    "head",
    [
        record(piece(None)),
        record(piece(NOP + RET, executed=False)),
        record(piece(NOP + RET, executed=None)),
        record(piece(NOP + RET, name="another")),
        record(),
        b"",
        b"[]",
        b"\xff" * 100,
        record(piece(RET))
        .replace(b'"format_version":1', b'"format_version":2')
        .replace(b'"format_version": 1', b'"format_version": 2'),
    ],
    ids=["not read", "not executed", "not counted", "another", "none", "empty", "list", "no text", "newer"],
)
def test_what_one_side_did_not_show_is_not_compared(tmp_path: Path, recorded: Path, head: bytes) -> None:
    assert differences(tmp_path, recorded, [record(piece(RET))], [head]) == ProgramDifferences()


def test_a_boot_that_did_not_end_is_left_out(tmp_path: Path, recorded: Path) -> None:
    boot(tmp_path, "base", record(piece(RET)))
    (tmp_path / "boots/001-base/boot.json").unlink()

    assert programs_of(tmp_path, "base", recorded / "kernel-base") == {}


def test_boots_whose_jit_hides_constants_are_not_compared(tmp_path: Path, recorded: Path, data: Path) -> None:
    """It draws the numbers behind which it hides them anew, so that two boots of one kernel would differ."""
    boot(tmp_path, "base", record(piece(RET)))
    environment = json.loads((data / "runs/uninlined/boots/001-base/environment.json").read_text())
    (tmp_path / "boots/001-base/environment.json").write_text(json.dumps(environment))
    assert CASE in programs_of(tmp_path, "base", recorded / "kernel-base")

    (tmp_path / "boots/001-base/environment.json").write_text(
        json.dumps({**environment, "bpf_jit_harden": "2"})
    )
    assert programs_of(tmp_path, "base", recorded / "kernel-base") == {}


def test_a_kernel_without_a_map_has_no_listing(tmp_path: Path, recorded: Path) -> None:
    boot(tmp_path, "base", record(piece(RET)))
    (tmp_path / "kernel").mkdir()

    assert programs_of(tmp_path, "base", tmp_path / "kernel") == {}


def test_code_that_is_none_is_compared_all_the_same(tmp_path: Path, recorded: Path) -> None:
    found = differences(
        tmp_path, recorded, [record(piece(b"\x06" * 50_000))], [record(piece(b"\x07" * 49_999))]
    )

    (each,) = found.programs
    assert len(each.lines) == 200
    assert each.more > 90_000


def test_the_recorded_document_is_read_as_it_was_written(recorded: Path) -> None:
    content = (recorded / "boots/001-base/bpf-programs.json").read_bytes()
    document = read_as(content, BpfProgramsRecord)

    assert isinstance(document, BpfProgramsRecord)
    assert json.loads(document_text(document)) == json.loads(content)
