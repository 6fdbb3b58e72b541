"""Nothing that somebody else wrote is a command to GitHub's runner."""

import io
from pathlib import Path

import pytest

from cliffwatch_runner.ci.job_log import (
    LARGEST_SUMMARY,
    HarmlessStream,
    add_to_summary,
    annotation,
    harmless,
    write_outputs,
)

COMMANDS = [
    "::set-output name=a::b",
    "  ::add-mask::x",
    "\t::stop-commands::y",
    "\u2003::error::z",
    "\u200b::error::z",
    "before\r::add-path::/tmp",
    "before\u2028::add-path::/tmp",
    "before\x85::debug::w",
    "\x1b[0m::error::v",
    "text ##[add-path]/tmp",
    "##[command]rm",
    "###[group]x",
]


def commands(text: str) -> list[str]:
    """What GitHub's runner would take for a command: it breaks lines at CR and LF, trims them, and finds the
    old form anywhere.
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return [line for line in lines if line.strip().lstrip("\u200b\ufeff").startswith("::") or "##[" in line]


@pytest.mark.parametrize("text", COMMANDS)
def test_no_line_is_a_command(text: str) -> None:
    assert commands(text) or "\x1b" in text or not text.isascii()
    assert not commands(harmless(text))


def test_ordinary_text_stays_as_it_is() -> None:
    text = "kernel/bpf/core.c:12:3: error: 'x' undeclared\n    std::vector ## heading\n  a -> b"

    assert harmless(text) == text


def test_a_stream_is_harmless_however_it_is_written() -> None:
    below = io.StringIO()
    stream = HarmlessStream(below)
    for piece in ":", ":set-", "output name=a::b\n", "fine\n::err", "or::end":
        stream.write(piece)
    stream.flush()

    assert below.getvalue() == "| ::set-output name=a::b\nfine\n| ::error::end\n"


def test_a_stream_whose_target_is_closed_before_it_ends_quietly() -> None:
    """As at the end of a process, where streams go in any order; since Python 3.13 an error in
    there is said.
    """
    below = io.StringIO()
    stream = HarmlessStream(below)
    stream.write("begun")
    below.close()

    stream.close()

    assert stream.closed


def test_an_annotation_is_one_command_whatever_it_says() -> None:
    line = annotation("error", "first\n::set-output name=a::b\r%0A::add-mask::c")

    assert len(line.splitlines()) == 1
    assert line.startswith("::error title=cliffwatch::first ")
    assert "%0A" not in line.replace("%250A", "")


def test_an_output_cannot_name_another(tmp_path: Path) -> None:
    file = tmp_path / "output"
    write_outputs(file, {"plan": "x\nend\nmatrix<<end\nforged\nend"})
    mark = file.read_text().splitlines()[0].removeprefix("plan<<")

    assert len(mark) > 30
    assert file.read_text() == f"plan<<{mark}\nx\nend\nmatrix<<end\nforged\nend\n{mark}\n"


def test_a_summary_is_cut_where_github_would_show_none(tmp_path: Path) -> None:
    file = tmp_path / "summary"

    assert add_to_summary(file, "first")
    assert not add_to_summary(file, "é" * LARGEST_SUMMARY)
    assert file.stat().st_size <= LARGEST_SUMMARY
    assert "did not fit" in file.read_text(errors="replace")
