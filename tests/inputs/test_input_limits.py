"""What foreign text costs is bounded, and what is not told one by one is counted."""

import pytest

from cliffwatch.failure import Failure
from cliffwatch.importing import ImportedFile, import_content
from cliffwatch.importing.problems import warnings_of
from cliffwatch.parsers.detect import parse_any

LINE = "BenchmarkX-8 1000 12.5 ns/op\n"


@pytest.mark.parametrize(
    ("before", "foreign", "after"),
    [
        ("Setting up benchmark 'x'...\n", "what is this {number}\n", ""),
        (LINE, "what is this {number}\n", ""),
        ("file_name,prog_name,verdict,total_insns\na,b,success,1\n", "a {number}\n", ""),
        ("", "it goes on {number}\n", "file_name,prog_name,verdict,total_insns\na,b,success,1\n"),
        ('{"Action":"output","Package":"a","Output":"x\\n"}\n', "no event {number}\n", ""),
    ],
    ids=["bench", "Go", "veristat", "before veristat's header", "go test -json"],
)
def test_a_hundred_lines_of_a_kind_are_told_and_the_others_counted(
    before: str, foreign: str, after: str
) -> None:
    text = before + "".join(foreign.format(number=number) for number in range(5000)) + after

    problems = [each for each in parse_any(text).problems if each.lost is None]
    kind = max(
        {each.reason for each in problems}, key=lambda reason: sum(each.reason == reason for each in problems)
    )
    alike = [each for each in problems if each.reason == kind]

    assert len(alike) == 101
    assert sum(each.lines for each in alike) == 5000
    assert alike[-1].text == "and 4,900 more lines that were not read"
    assert any("5,000 lines, the first of them" in sentence for sentence in warnings_of(problems, "x"))


@pytest.mark.parametrize(("count", "told"), [(100, 100), (101, 101)])
def test_nothing_is_counted_that_can_be_told(count: int, told: int) -> None:
    problems = parse_any(LINE + "".join(f"what is this {number}\n" for number in range(count))).problems

    assert len(problems) == told
    assert sum(each.lines for each in problems) == count


def test_kinds_without_end_are_counted_together() -> None:
    text = (
        "".join(f"libbpf: nothing {number}\n" for number in range(5000))
        + "Iter   0 ( 12.000us): hits   49.123M/s\n"
    )

    problems = [each for each in parse_any(text).problems if each.lost is None]

    assert len(problems) < 300


def test_a_title_is_taken_back_beyond_the_hundredth_line() -> None:
    noise = "".join(f"what is this {number}\n" for number in range(500))
    problems = list(parse_any(f"Setting up benchmark 'x'...\n{noise}A title\n=======\n").problems)

    assert sum(each.lines for each in problems if "not a line" in each.reason) == 500


def test_a_mail_of_too_many_parts_is_refused_by_name_and_none_is_dropped() -> None:
    header = 'Content-Type: multipart/mixed; boundary="b"\n\n'
    whole = import_content((header + f"--b\n\n{LINE}" * 1000).encode(), "mail")
    refused = import_content((header + f"--b\n\n{LINE}" * 1001).encode(), "mail")

    assert isinstance(whole, ImportedFile)
    assert sum(len(arm.boots) for arm in whole.arms.values()) == 1000
    assert isinstance(refused, Failure)
    assert refused.message == (
        "mail holds no result: the mail has more than 1,000 parts: save the part you mean and pass that"
    )


def test_a_mail_of_too_much_text_is_refused_by_name() -> None:
    text = "From: a@b\nSubject: c\n\n" + ("x" * 1023 + "\n") * (17 << 10)

    problems = parse_any(text).problems

    assert [each.reason for each in problems] == [
        "the mail has more than 16 MiB of text: save the part you mean and pass that"
    ]
