"""A code.json that is too large for a service keeps what says the most: names, sizes and first instructions."""

import pytest

from cliffwatch.formats.code.differences import ArmCode, CodeDifference, CodeRecord
from cliffwatch.formats.code.shortening import shorten_code
from cliffwatch.formats.reading import document_text

LINES = tuple(f"+mov rax, {number}" for number in range(200))
CHANGED = tuple(
    CodeDifference(name=f"function_{each}", base=800, head=864, lines=LINES) for each in range(20)
)
RECORD = CodeRecord(
    arms=(ArmCode(arm="head", functions=CHANGED),), steps=(ArmCode(arm="7.3", functions=CHANGED),)
)
WHOLE = len(document_text(RECORD))


def test_one_that_fits_stays_as_it_is() -> None:
    assert shorten_code(RECORD, WHOLE) == (RECORD, "")


def test_what_no_page_shows_goes_first() -> None:
    shorter, lacks = shorten_code(RECORD, WHOLE - 1)

    assert (shorter.arms, shorter.steps) == (RECORD.arms, ())
    assert lacks == "the comparison of each release with the one before"


@pytest.mark.parametrize("largest", [WHOLE // 3, WHOLE // 9, 100])
def test_a_larger_one_keeps_as_many_first_lines_as_fit(largest: int) -> None:
    shorter, lacks = shorten_code(RECORD, largest)

    functions = shorter.arms[0].functions
    most = len(functions[0].lines)
    assert [each.name for each in functions] == [each.name for each in CHANGED]
    assert {(each.lines, each.more) for each in functions} == {(LINES[:most], 200 - most)}
    assert not most or largest - 20 * 50 < len(document_text(shorter)) <= largest
    assert lacks.endswith(f" and all but {most} lines of each function and program")


def test_lines_that_were_left_out_before_still_count() -> None:
    longer = CodeDifference(name="longer", base=8000, head=None, lines=LINES, more=1000)
    shorter, _ = shorten_code(CodeRecord(arms=(ArmCode(arm="head", functions=(longer,)),)), 3000)

    assert shorter.arms[0].functions[0].more == 1000 + 200 - len(shorter.arms[0].functions[0].lines)
