"""Every report of a run says how the code of its kernels differs, whatever was measured."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from cliffwatch.command.main import main
from cliffwatch.comparing.attribution.blocks import code_of_arm
from cliffwatch.comparing.attribution.images import code_sentence
from cliffwatch.comparing.attribution.operations import Function
from cliffwatch.formats.code.differences import (
    ArmCode,
    CasePrograms,
    CodeDifference,
    CodeRecord,
    ProgramDifference,
    SectionSize,
)
from cliffwatch.formats.reading import document_text, read_as
from cliffwatch.formats.values import OfCase

RUN = Path(__file__).parents[1] / "data/runs/uninlined"


def function(name: str, base: int | None, head: int | None) -> CodeDifference:
    return CodeDifference(name=name, base=base, head=head, lines=("-nop", "+ret"))


def section(name: str, base: int | None, head: int | None) -> SectionSize:
    return SectionSize(name=name, base=base, head=head)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("image", "sentence"),
    [
        (ArmCode(arm="head", functions=()), "Code of head: no function that cases executed differs"),
        (ArmCode(arm="new", functions=(), executed=False), "Code of new: no function differs"),
        (
            ArmCode(
                arm="head",
                functions=(function("jit", 96, 112),),
                sections=(section("text", 4096, 4112), section("data", 8, 8), section("bss", None, 8)),
            ),
            (
                "Code of head: text +16 bytes; 1 of the functions that cases executed differs: jit (96 to 112"
                " bytes)"
            ),
        ),
        (
            ArmCode(
                arm="head",
                functions=(*(function(name, 16, 16) for name in "abcde"), function("gone", 64, None)),
                executed=False,
                more=10,
                sections=(section("constants", 20_480, 8192),),
            ),
            (
                "Code of head: constants -12,288 bytes; 16 functions differ: gone (not in head), a (16"
                " bytes), b (16 bytes), c (16 bytes) and 12 more"
            ),
        ),
    ],
)
def test_the_largest_differences_come_first(image: ArmCode, sentence: str) -> None:
    assert code_sentence(image) == sentence


@pytest.mark.parametrize("form", ["text", "markdown", "html"])
def test_reports_have_it(form: str) -> None:
    printed = CliRunner().invoke(main, ["compare", str(RUN), "--format", form], catch_exceptions=False).output

    assert "Code of head: 2 of the functions that cases executed differ: " in printed.replace("\\", "")
    assert "only in head, 112 bytes" in printed.replace("\n", " ")


def test_names_of_a_kernel_are_no_markup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Functions are named by whoever wrote the kernel."""
    record = read_as((RUN / "code.json").read_bytes(), CodeRecord)
    assert isinstance(record, CodeRecord)
    hostile = CodeRecord(arms=(ArmCode(arm="head", functions=(function("<img src=x>[a](b)", 1, 2),)),))
    run = tmp_path / "run"
    run.mkdir()
    for path in RUN.iterdir():
        (run / path.name).symlink_to(path)
    (run / "code.json").unlink()
    (run / "code.json").write_bytes(document_text(hostile))

    printed = {
        form: CliRunner().invoke(main, ["compare", str(run), "--format", form], catch_exceptions=False).output
        for form in ("markdown", "html")
    }

    assert "<img" not in printed["html"]
    assert "<img" not in printed["markdown"]
    assert "[a](b)" not in printed["markdown"]


OF_CASES = (
    OfCase(suite="local-storage", benchmark="local-storage-cache-seq-get", params={"nr_maps": "16"}),
    OfCase(suite="local-storage", benchmark="local-storage-cache-seq-get", params={"nr_maps": "17"}),
)


def program(
    name: str,
    base: int,
    head: int,
    *cases: OfCase,
    lines: tuple[str, ...] = ("@@ -5,0 +6 @@", "+nop dword ptr [rax]"),
) -> ProgramDifference:
    return ProgramDifference(
        name=name,
        cases=cases or OF_CASES[:1],
        base=base,
        head=head,
        base_instructions=base // 4,
        head_instructions=head // 4,
        lines=lines,
    )


def compared(*programs: ProgramDifference) -> ArmCode:
    digests = tuple(
        CasePrograms(
            suite=each.suite,
            benchmark=each.benchmark,
            params=each.params,
            names=2,
            base=8 * "0",
            head=8 * "1",
        )
        for each in OF_CASES
    )
    return ArmCode(arm="head", functions=(), programs=programs, case_programs=digests)


@pytest.mark.parametrize(
    ("programs", "sentence"),
    [
        ((), "no BPF program differs"),
        ((program("bench_get", 412, 436),), "BPF programs: bench_get 412 to 436 bytes"),
        ((program("same_size", 412, 412),), "BPF programs: same_size 412 bytes, other instructions"),
        (
            (program("loop", 275, 278), program("loop", 446, 449, OF_CASES[1]), program("get", 188, 180)),
            "BPF programs: get 188 to 180 bytes, loop +3 bytes in 2 cases",
        ),
        (
            (program("loop", 275, 270), program("loop", 446, 449, OF_CASES[1])),
            "BPF programs: loop -5 to +3 bytes in 2 cases",
        ),
        (
            tuple(program(name, 16, 32) for name in "abcdef"),
            "BPF programs: a 16 to 32 bytes, b 16 to 32 bytes, c 16 to 32 bytes, d 16 to 32 bytes and 2 more",
        ),
    ],
)
def test_bpf_programs_follow_the_kernels_functions(
    programs: tuple[ProgramDifference, ...], sentence: str
) -> None:
    assert (
        code_sentence(compared(*programs))
        == f"Code of head: no function that cases executed differs; {sentence}"
    )


def run_with(tmp_path: Path, image: ArmCode) -> Path:
    run = tmp_path / "run"
    run.mkdir()
    for path in RUN.iterdir():
        (run / path.name).symlink_to(path)
    (run / "code.json").unlink()
    (run / "code.json").write_bytes(document_text(CodeRecord(arms=(image,))))
    return run


def printed(run: Path, *options: str) -> str:
    return CliRunner().invoke(main, ["compare", str(run), *options], catch_exceptions=False).output


@pytest.mark.parametrize("form", ["text", "markdown", "html"])
def test_every_report_names_the_programs_that_differ(tmp_path: Path, form: str) -> None:
    run = run_with(tmp_path, compared(program("get_local", 188, 191)))

    report = " ".join(printed(run, "--format", form).replace("\\", "").split())

    assert "BPF programs: get_local 188 to 191 bytes" in report


def test_the_page_has_the_instructions_that_differ(tmp_path: Path) -> None:
    page = printed(run_with(tmp_path, compared(program("get_local", 188, 191))), "--format", "html")

    assert "how the code of its BPF programs differs" in page
    assert "get_local: 188 to 191 bytes, 47 instructions, in local-storage-cache-seq-get/nr_maps=16" in page
    assert "+nop dword ptr [rax]" in page


def test_an_explained_case_has_its_own_programs(tmp_path: Path) -> None:
    """Whether or not the case changed, and no other case's."""
    run = run_with(tmp_path, compared(program("get_local", 188, 191), program("other", 16, 24, OF_CASES[1])))

    explained = printed(run, "--explain", "seq-get/nr_maps=16")

    assert "  BPF program get_local, base against head: 188 to 191 bytes, 47 instructions\n" in explained
    assert "    +nop dword ptr [rax]\n" in explained
    assert explained.count("BPF program ") == 1


def test_a_program_that_moved_says_its_size_beside_its_instructions(tmp_path: Path) -> None:
    image = compared(program("loop", 275, 278))

    moved = code_of_arm(image).of(Function("bpf", "loop"), OF_CASES[0].case)

    assert moved is image.programs[0]
    assert code_of_arm(image).of(Function("bpf", "loop"), OF_CASES[1].case) is None
    assert code_of_arm(image).of(Function("kernel", "loop"), OF_CASES[0].case) is None


def test_names_and_lines_of_programs_are_no_markup(tmp_path: Path) -> None:
    hostile = program("<img src=x>[a](b)", 16, 24, lines=("+<script>alert(1)</script>\x1b[2J\u202e",))
    run = run_with(tmp_path, compared(hostile))

    pages = {form: printed(run, "--format", form) for form in ("markdown", "html", "text")}
    explained = printed(run, "--explain", "seq-get/nr_maps=16")

    assert "<img" not in pages["html"]
    assert "<script>alert(1)" not in pages["html"]
    assert "<img" not in pages["markdown"]
    assert "[a](b)" not in pages["markdown"]
    assert not any(sign in text for text in (*pages.values(), explained) for sign in ("\x1b", "\u202e"))


def test_what_older_versions_wrote_is_read_without_programs() -> None:
    record = read_as((RUN / "code.json").read_bytes(), CodeRecord)

    assert isinstance(record, CodeRecord)
    assert b'"programs"' not in (RUN / "code.json").read_bytes()
    assert record.arms[0].programs == record.arms[0].case_programs == ()
    assert "BPF program" not in code_sentence(record.arms[0])
