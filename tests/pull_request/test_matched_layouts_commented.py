"""A comment says whether a change is only placement, below the table that has the change."""

from dataclasses import replace

import pytest
from msgspec import structs
from states import measured, regressed, row, state

from cliffwatch.formats.verdicts import Control, MatchedChange
from cliffwatch.pull_request.comment import regression_comment, sticky_comment

PLACED = MatchedChange(change=0.001, ci_low=-0.003, ci_high=0.004, pairs=14, only_placement=True)


def test_a_comment_has_both_changes_and_what_follows() -> None:
    slower = row("seq-get", 0.052, "regression", matched=PLACED)
    text = " ".join(sticky_comment(state(measured(slower))).split())
    assert (
        "- `local-storage/seq-get`: +5.20 % in random layouts, +0.10 % in matched layouts (95 % interval -0.30 %"
        " to +0.40 %, 14 pairs of boots): the change may be due to placement alone"
    ) in text


def test_so_has_the_notification() -> None:
    rows = [structs.replace(each, matched=PLACED) for each in regressed()]
    text = regression_comment(state(measured(*rows))) or ""
    assert "may be due to placement alone" in text


@pytest.mark.parametrize("by_unit", [False, True], ids=["of a kernel", "of a library"])
def test_a_comment_has_the_layouts_and_the_check_of_base_in_others(by_unit: bool) -> None:
    of_run = measured(row("case", 0.05, "regression"))
    found = of_run.compared
    base, head = (replace(side, layouts=8) for side in (found.base, found.head))
    control = Control(rows=12, published=0, largest=0.0061, layouts=8)
    placed = replace(of_run, compared=replace(found, base=base, head=head, control=control))
    text = sticky_comment(state(placed, by_unit=by_unit)).partition("<summary>")[0]

    assert "in 8 layouts" in text
    assert "in other layouts" in text


def test_ten_lines_are_enough() -> None:
    rows = [row(f"case-{number}", 0.05 + number / 1000, "regression", matched=PLACED) for number in range(12)]
    text = sticky_comment(state(measured(*rows)))
    assert text.partition("<summary>")[0].count("placement alone") == 10
    assert "- and 2 more remarks" in text


def test_a_note_that_rows_share_is_one_line_below_the_table() -> None:
    note = "spread 3.1% between layouts, 0.2% between boots of one layout"
    rows = [row(name, 0.05, "regression", notes=(note,)) for name in ("seq-get", "int-get")]
    for text in (sticky_comment(state(measured(*rows))), regression_comment(state(measured(*rows))) or ""):
        assert f"- `local-storage/seq-get`, `local-storage/int-get`: {note}\n" in text


def test_without_matched_layouts_nothing_is_said_of_placement() -> None:
    assert "matched" not in sticky_comment(state(measured(*regressed())))
