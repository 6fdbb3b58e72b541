"""code.json of a run: how the functions that its cases executed differ between two kernels that were really
compiled.
"""

import json
import struct
from pathlib import Path

import pytest
from compiled_code import HEADER, PLAIN, SOURCE, build

from cliffwatch.formats.boot_record import BootRecord
from cliffwatch.formats.code.bpf_programs import BpfPiece, BpfProgramsRecord, CaseBpfPrograms
from cliffwatch.formats.code.differences import CodeRecord
from cliffwatch.formats.code.function_counts import CaseCounts, CountedFunction, FunctionCountsRecord
from cliffwatch.formats.reading import document_text, read_as
from cliffwatch_runner.build.code.sections import section_sizes
from cliffwatch_runner.results.code_differences import write_code


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run whose one boot executed four functions in what it measured, and one as it was set up."""
    names = ("uses_inline", "calls", "untouched", "only_here", "jit")
    functions = (
        *(CountedFunction(name=name, object="kernel") for name in names),
        CountedFunction(name="jit", object="bpf"),
    )
    counts = tuple((place, 10) for place in (0, 1, 2, 3, 5))
    case = CaseCounts(
        suite="s", benchmark="b", params={}, seconds=1.0, counts=counts, executed=(0, 1, 2, 3, 4, 5)
    )
    document = FunctionCountsRecord(counter="", functions=functions, started=(), cases=(case,))
    (tmp_path / "run" / "boots" / "001-base").mkdir(parents=True)
    (tmp_path / "run" / "boots" / "001-base" / "functions.json").write_bytes(document_text(document))
    return tmp_path / "run"


def test_functions_that_differ_are_listed_with_what_differs(run: Path, tmp_path: Path) -> None:
    base = build(tmp_path / "base")
    changed = SOURCE.replace("x ^ 0x5a", "x ^ 0x5b").replace(
        "APART int jit(", "APART int only_here(int x) { return x - counter; }\nAPART int jit("
    )
    head = build(tmp_path / "head", changed, HEADER.replace("x * 3", "x * 9"))

    write_code(run, {"base": base, "head": head, "control": base}, (), PLAIN, tmp_path / "cache")

    record = read_as((run / "code.json").read_bytes(), CodeRecord)
    assert isinstance(record, CodeRecord)
    (arm,) = record.arms
    assert arm.arm == "head"
    assert [(each.name, each.base is None) for each in arm.functions] == [
        ("only_here", True),
        ("uses_inline", False),
    ]
    assert any(line.startswith("+lea") for line in arm.functions[1].lines)
    assert not any("ffffffff81" in line for each in arm.functions for line in each.lines)


def test_each_release_is_compared_with_the_first_and_with_the_one_before(run: Path, tmp_path: Path) -> None:
    old = build(tmp_path / "old")
    later = build(tmp_path / "later", SOURCE, HEADER.replace("x * 3", "x * 9"))

    write_code(run, {"6.1": old, "6.12": later, "7.3": later}, (), PLAIN, tmp_path / "cache", releases=True)

    record = read_as((run / "code.json").read_bytes(), CodeRecord)
    assert isinstance(record, CodeRecord)
    assert [(each.arm, bool(each.functions)) for each in record.arms] == [("6.12", True), ("7.3", True)]
    assert [(each.arm, bool(each.functions)) for each in record.steps] == [("7.3", False)]


def test_equal_kernels_have_no_differences(run: Path, tmp_path: Path) -> None:
    base = build(tmp_path / "base")

    write_code(run, {"base": base, "head": base}, (), PLAIN, tmp_path / "cache")

    assert json.loads((run / "code.json").read_text())["arms"][0]["functions"] == []


def test_of_what_was_not_counted_all_functions_that_differ_are_listed(tmp_path: Path) -> None:
    base = build(tmp_path / "base")
    head = build(tmp_path / "head", SOURCE.replace("x ^ 0x5a", "x ^ 0x5b"), HEADER.replace("x * 3", "x * 9"))
    run = tmp_path / "run"
    run.mkdir()

    write_code(run, {"base": base, "head": head}, (), PLAIN, tmp_path / "cache")

    (arm,) = json.loads((run / "code.json").read_text())["arms"]
    assert not arm["executed"]
    assert {each["name"] for each in arm["functions"]} >= {"uses_inline", "jit"}
    assert "untouched" not in {each["name"] for each in arm["functions"]}


def test_sizes_of_the_image_stand_beside_the_functions(run: Path, tmp_path: Path) -> None:
    base = build(tmp_path / "base")
    longer = "APART int only_here(int x) { return x - counter; }\nAPART int jit("
    head = build(tmp_path / "head", SOURCE.replace("APART int jit(", longer))

    write_code(run, {"base": base, "head": head}, (), PLAIN, tmp_path / "cache")

    (arm,) = json.loads((run / "code.json").read_text())["arms"]
    (text,) = [each for each in arm["sections"] if each["name"] == "text"]
    assert 0 < text["base"] < text["head"]


def test_nothing_is_written_of_one_kernel_or_without_images(run: Path, tmp_path: Path) -> None:
    base = build(tmp_path / "base")

    write_code(run, {"base": tmp_path, "head": base}, (), PLAIN, tmp_path / "cache")
    write_code(run, {"base": base, "control": base}, (), PLAIN, tmp_path / "cache")

    assert not (run / "code.json").exists()


@pytest.mark.parametrize(
    "system_map",
    [
        b"",
        b"ffffffff81000000 T _stext\n",
        b"ffffffff81000000 T _stext\nffffffff80000000 T _etext\n",
        b"ffffffff81000000 T _stext\nffffffff81000000 T _stext\nffffffff82000000 T _etext\n",
        b"\xff" * 4096,
    ],
)
def test_a_map_without_bounds_says_nothing_of_sizes(system_map: bytes) -> None:
    assert section_sizes(system_map) == {}


JIT = 0xFFFFFFFFA0000100


def with_program(run: Path, number: int, arm: str, kernel: Path, before: bytes) -> None:
    """A boot in which a case executed a program that calls a function of its kernel's."""
    (helper,) = [
        line for line in (kernel / "System.map").read_text().splitlines() if line.endswith(" helper")
    ]
    code = (
        before + b"\xe8" + struct.pack("<i", int(helper.split()[0], 16) - (JIT + len(before) + 5)) + b"\xc3"
    )
    piece = BpfPiece(
        address=f"{JIT:016x}",
        bytes=len(code),
        name=f"bpf_prog_{16 * 'a'}_get",
        function="get",
        executed=True,
        code=code,
    )
    case = CaseBpfPrograms(suite="s", benchmark="b", params={}, pieces=(piece,))
    home = run / "boots" / f"{number:03d}-{arm}"
    home.mkdir(exist_ok=True)
    about = BootRecord(
        index=number, block=0, arm=arm, began="2026-11-24T21:00", ended="2026-11-24T21:01", status="ok"
    )
    (home / "boot.json").write_bytes(document_text(about))
    (home / "bpf-programs.json").write_bytes(document_text(BpfProgramsRecord(cases=(case,))))


def test_programs_of_cases_stand_beside_the_kernels_functions(run: Path, tmp_path: Path) -> None:
    base = build(tmp_path / "base")
    head = build(
        tmp_path / "head",
        SOURCE.replace("APART int say(", "APART int added(int x) { return x; }\nAPART int say("),
    )
    with_program(run, 1, "base", base, b"")
    with_program(run, 2, "head", head, b"\x90")

    write_code(run, {"base": base, "head": head, "control": base}, (), PLAIN, tmp_path / "cache")

    record = read_as((run / "code.json").read_bytes(), CodeRecord)
    assert isinstance(record, CodeRecord)
    (arm,) = record.arms
    (program,) = arm.programs
    assert (program.name, program.base, program.head, program.lines) == (
        "get",
        6,
        7,
        ("@@ -0,0 +1 @@", "+nop"),
    )
    assert [case.names for case in arm.case_programs] == [1]


def test_programs_that_call_what_lies_elsewhere_are_the_same(run: Path, tmp_path: Path) -> None:
    base = build(tmp_path / "base")
    head = build(
        tmp_path / "head",
        SOURCE.replace("APART int say(", "APART int added(int x) { return x; }\nAPART int say("),
    )
    with_program(run, 1, "base", base, b"")
    with_program(run, 2, "head", head, b"")

    write_code(run, {"base": base, "head": head}, (), PLAIN, tmp_path / "cache")

    (arm,) = json.loads((run / "code.json").read_text())["arms"]
    (case,) = arm["case_programs"]
    assert arm["programs"] == []
    assert case["base"] == case["head"]
