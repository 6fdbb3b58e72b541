"""Every report of a run says how the code of its kernels differs, whatever was measured."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from cliffwatch.command.main import main
from cliffwatch.comparing.attribution.images import code_sentence
from cliffwatch.formats.code.differences import ArmCode, CodeDifference, CodeRecord, SectionSize
from cliffwatch.formats.reading import read_as, written

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
            "Code of head: text +16 bytes; 1 of the functions that cases executed differs: jit (96 to 112 bytes)",
        ),
        (
            ArmCode(
                arm="head",
                functions=(*(function(name, 16, 16) for name in "abcde"), function("gone", 64, None)),
                executed=False,
                more=10,
                sections=(section("constants", 20_480, 8192),),
            ),
            "Code of head: constants -12,288 bytes; 16 functions differ: gone (not in head), a (16 bytes), b (16 bytes), c (16 bytes) and 12 more",
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
    (run / "code.json").write_bytes(written(hostile))

    printed = {
        form: CliRunner().invoke(main, ["compare", str(run), "--format", form], catch_exceptions=False).output
        for form in ("markdown", "html")
    }

    assert "<img" not in printed["html"]
    assert "<img" not in printed["markdown"]
    assert "[a](b)" not in printed["markdown"]
