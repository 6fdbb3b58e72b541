"""Cost that a refactoring moves between functions is told as moved, and a real cost beside it by its function."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

import pytest

from cliffwatch.comparing.attribution import moved_code
from cliffwatch.comparing.attribution.blocks import FunctionBlock, block_of
from cliffwatch.comparing.attribution.cause import name_causes
from cliffwatch.comparing.attribution.changes import CaseFunctions
from cliffwatch.comparing.attribution.operations import Function, OperationCounts, plain_name
from cliffwatch.comparing.attribution.row import row_functions
from cliffwatch.formats.code.differences import CodeDifference
from cliffwatch.formats.verdicts import Verdict
from cliffwatch.samples import CaseKey

CASE = CaseKey("hashmap", "bpf-hashmap-full-update")
Counts = Mapping[str, float | tuple[float, float]]
"""Instructions of an operation by function, and its calls, one if not given."""


@dataclass(frozen=True)
class Row:
    """A row of about 2000 instructions."""

    unit: str = "insns/op"
    base: float = 2000.0
    head: float = 2000.0
    ci_low: float = -0.0002
    ci_high: float = 0.0002
    verdict: Verdict = "unchanged"


def boot(counts: Counts) -> OperationCounts:
    both = {name: each if isinstance(each, tuple) else (each, 1.0) for name, each in counts.items()}
    instructions: dict[Function, float] = {}
    calls: dict[Function, float] = {}
    for name, (count, called) in both.items():
        function = Function("kernel", plain_name(name))
        instructions[function] = instructions.get(function, 0.0) + count
        calls[function] = calls.get(function, 0.0) + called
    rest = Function("kernel", "rest")
    return OperationCounts({**instructions, rest: 2000 - sum(instructions.values())}, {**calls, rest: 1.0})


def functions(
    base: Counts,
    head: Counts,
    row: Row = Row(),
    code: Sequence[CodeDifference] = (),
    same: Sequence[str] = ("rest",),
) -> CaseFunctions:
    """Every function named here has other code in head, but for those with the `same`."""
    named = {each.name: each for each in code}
    differing = {
        Function("kernel", plain_name(name)): named.get(
            name, CodeDifference(name=name, base=1, head=1, lines=())
        )
        for name in (base.keys() | head.keys()) - set(same)
    }
    found = row_functions(row, [boot(base)], [boot(head)], differing=differing)
    assert found is not None
    return found


def block(*counts: Counts, **more: Any) -> FunctionBlock:
    return block_of(CASE, functions(*counts, **more))


def said(*counts: Counts, **more: Any) -> str:
    return block(*counts, **more).sentence


def test_a_renamed_function_is_no_new_cost() -> None:
    assert said({"hash": 40.0}, {"hash_key": 40.0}) == "unchanged; hash renamed to hash_key, net 0"


def test_a_block_taken_out_of_line() -> None:
    assert said({"update": 300.0}, {"update": 281.0, "alloc": 21.0}) == (
        "unchanged; moved from update to alloc, net +2.00"
    )


def test_a_function_inlined_into_its_caller() -> None:
    assert said({"update": 281.0, "alloc": 21.0}, {"update": 300.0}) == (
        "unchanged; moved from alloc to update, net -2.00"
    )


ALLOC = CodeDifference(name="alloc", base=864, head=None, lines=("@@ -1 +0,0 @@", "-push r15"), more=211)
LINES = ("-call alloc", "+test byte ptr [r9 + 0x30], 1", "+jne .+4a8")
UPDATE = CodeDifference(name="update", base=992, head=1872, lines=LINES, more=385)


def test_inlined_code_that_executes_hardly_anything() -> None:
    """As hashtab.c of linux 6.12, alloc_htab_elem always inlined: 94 to 95 instructions in its caller."""
    assert said({"update": 94.0, "alloc": 40.0}, {"update": 95.0}, code=[ALLOC, UPDATE]) == (
        "unchanged; moved from alloc to update, net -39.00"
    )
    assert said({"update": 94.0, "alloc": 40.0}, {"update": 91.0}, code=[ALLOC, UPDATE]) == (
        "unchanged; moved from alloc to update, net -43.00"
    )


def test_code_taken_out_of_line_that_its_caller_hardly_executed() -> None:
    alloc = CodeDifference(name="alloc", base=None, head=864, lines=())
    update = CodeDifference(name="update", base=1872, head=992, lines=("@@ -90 +71 @@", "+call alloc"))

    assert said({"update": 95.0}, {"update": 94.0, "alloc": 40.0}, code=[alloc, update]) == (
        "unchanged; moved from update to alloc, net +39.00"
    )


@pytest.mark.parametrize(
    ("size", "lines"), [(1000, LINES), (1872, LINES[1:]), (1872, (*LINES, "+call alloc"))]
)
def test_a_function_that_is_not_called_is_not_inlined(size: int, lines: tuple[str, ...]) -> None:
    """A caller that grew little, never called it, or still does."""
    update = CodeDifference(name="update", base=992, head=size, lines=lines)

    assert functions({"update": 94.0, "alloc": 40.0}, {"update": 95.0}, code=[ALLOC, update]).moves == ()


def test_a_function_inlined_into_several_callers() -> None:
    base = {"update": 100.0, "delete": 90.0, "hash": (60.0, 2.0)}
    assert said(base, {"update": 129.0, "delete": 117.0}) == (
        "unchanged; moved from hash to update and delete, net -4.00"
    )


def test_a_function_extracted_from_several_callers() -> None:
    head = {"update": 100.0, "delete": 90.0, "hash": (60.0, 2.0)}
    assert said({"update": 129.0, "delete": 117.0}, head) == (
        "unchanged; moved from update and delete to hash, net +4.00"
    )


def test_a_function_split_in_two() -> None:
    assert said({"crypt": 80.0}, {"crypt_check": 30.0, "crypt_run": 52.0}) == (
        "unchanged; moved from crypt to crypt_run and crypt_check, net +2.00"
    )


def test_a_body_behind_a_wrapper() -> None:
    assert said({"peek": 80.0}, {"peek": 2.0, "peek_body": 80.0}) == (
        "unchanged; moved from peek to peek_body, net +2.00"
    )


def test_a_helper_that_was_called_and_inlined_and_is_only_called() -> None:
    """Neither new nor gone: an operation calls it twice instead of once."""
    assert said({"update": 130.0, "hash": (30.0, 1.0)}, {"update": 104.0, "hash": (60.0, 2.0)}) == (
        "unchanged; moved from update to hash, net +4.00"
    )


def test_a_block_that_went_to_another_function() -> None:
    assert said({"lock": 40.0, "update": 100.0}, {"lock": 52.0, "update": 88.0}) == (
        "unchanged; moved from update to lock, net 0"
    )


@pytest.mark.parametrize("suffix", [".constprop.0", ".isra.0", ".part.0", ".cold"])
def test_what_the_compiler_adds_to_a_name_is_no_other_function(suffix: str) -> None:
    base, head = {"match": 40.0, "update": 10.0}, {f"match{suffix}": 42.0, "update": 10.0}
    assert said(base, head) == "unchanged; match slower, +2.00 instructions per call"


def test_a_file_is_no_part_of_a_name() -> None:
    """A function with the same code in another file executes the same."""
    assert said({"hash": 40.0}, {"hash": 40.0}) == "+0.00 measured, in no function by more than 1.00"


def test_a_real_cost_is_named_by_function() -> None:
    found = block({"alloc": 60.0, "update": 200.0}, {"alloc": 62.0, "update": 200.0})
    assert found.sentence == "unchanged; alloc slower, +2.00 instructions per call"
    assert found.rows[0].about.startswith("slower")


def test_a_function_that_became_faster_is_named_too() -> None:
    assert said({"alloc": 62.0}, {"alloc": 60.0}) == "unchanged; alloc faster, -2.00 instructions per call"


def test_a_new_function_that_nobody_lost_is_slower() -> None:
    assert said({"update": 100.0}, {"update": 102.0, "audit": 12.0}) == (
        "unchanged; audit slower, +12.00 per operation, and 1 function more"
    )


def test_a_real_cost_beside_a_move_stands_first() -> None:
    head = {"update": 281.0, "alloc": 21.0, "lookup": 53.0}
    assert said({"update": 300.0, "lookup": 50.0}, head) == (
        "unchanged; lookup slower, +3.00 instructions per call; moved from update to alloc, net +2.00"
    )


def test_a_cost_within_moved_code_is_its_net() -> None:
    assert said({"update": 300.0}, {"update": 281.0, "alloc": 33.0}) == (
        "unchanged; moved from update to alloc, net +14.00"
    )


def test_the_small_side_of_a_move_need_not_be_beyond_the_case() -> None:
    """The caller lost 4 of 1200 instructions, which differ by more between equal kernels."""
    noisy = Row(ci_low=-0.004, ci_high=0.004)
    assert said({"update": 1200.0}, {"update": 1196.0, "alloc": 6.0}, row=noisy) == (
        "unchanged; moved from update to alloc, net +2.00"
    )


def test_the_same_code_is_the_same_function_even_with_an_instruction_more() -> None:
    old, new = ["mov eax, edi", *["shl eax, 3"] * 30, "ret"], ["mov eax, edi", *["shl eax, 3"] * 31, "ret"]
    code = [
        CodeDifference(name="hash", base=64, head=None, lines=tuple(f"-{line}" for line in old)),
        CodeDifference(name="hash_key", base=None, head=66, lines=tuple(f"+{line}" for line in new)),
    ]
    assert said({"hash": 32.0}, {"hash_key": 33.0}, code=code) == (
        "unchanged; hash renamed to hash_key, net +1.00"
    )


def test_other_code_of_the_same_length_is_another_function() -> None:
    code = [
        CodeDifference(name="hash", base=64, head=None, lines=("-mov eax, edi", "-shl eax, 3", "-ret")),
        CodeDifference(name="audit", base=None, head=66, lines=("+push rbx", "+lock inc [x]", "+pop rbx")),
    ]
    assert "renamed" not in said({"hash": 3.0}, {"audit": 3.0}, code=code)


def test_of_a_changed_row_each_function_says_where_its_cost_went() -> None:
    slower = Row(head=2010.0, verdict="regression", ci_low=0.0045, ci_high=0.0055)
    found = block({"update": 300.0}, {"update": 281.0, "alloc": 29.0}, row=slower)
    assert {row.name: row.about for row in found.rows if row.name != "rest"} == {
        "alloc": "was part of update: net +10.00",
        "update": "",
    }


def test_of_an_unchanged_row_each_function_has_a_verdict() -> None:
    found = block({"update": 300.0, "lookup": 50.0}, {"update": 281.0, "alloc": 21.0, "lookup": 53.0})
    assert {row.name: row.about for row in found.rows} == {
        "alloc": "was part of update: net +2.00",
        "update": "moved",
        "lookup": "slower",
    }


def test_a_helper_whose_code_is_the_same_was_called_in_place_of_inlined_code() -> None:
    """Another file's cases executed it out of line before."""
    base, head = {"update": 130.0}, {"update": 104.0, "hash": 30.0}
    assert said(base, head, same=("hash",)) == "unchanged; moved from update to hash, net +4.00"


def test_a_tick_that_came_more_rarely_is_no_source_of_a_real_cost() -> None:
    base, head = {"update": 130.0, "tick": (3.0, 0.03)}, {"update": 132.0, "tick": (1.0, 0.01)}
    assert said(base, head, same=("tick",)) == "unchanged; update slower, +2.00 instructions per call"


RELEASE = {f"other_{number}": 20.0 for number in range(9)}
"""Functions that all changed between two releases."""


def test_between_releases_sizes_that_fit_are_no_move() -> None:
    later = {name: count + 5 for name, count in RELEASE.items()}
    found = functions(
        {"get_cpu": 12.0, "handler": 60.0, **RELEASE}, {"handler": 71.0, **later}, Row(verdict="regression")
    )

    assert found.moves == ()


def test_between_releases_a_call_that_went_shows_a_move() -> None:
    later = {name: count + 5 for name, count in RELEASE.items()}
    inlined = CodeDifference(
        name="handler",
        base=200,
        head=240,
        lines=("@@ -3 +3 @@", "-call get_cpu", "+mov eax, dword ptr gs:[rip]"),
    )
    (move,) = functions(
        {"get_cpu": 12.0, "handler": 60.0, **RELEASE},
        {"handler": 71.0, **later},
        Row(verdict="regression"),
        code=[inlined],
    ).moves

    assert ([each.name for each in move.sources], [each.name for each in move.targets]) == (
        ["get_cpu"],
        ["handler"],
    )


def test_a_function_does_not_get_more_than_another_lost() -> None:
    found = functions({"exit": 0.3, "handler": 60.0}, {"handler": 101.0}, Row(verdict="regression"))

    assert found.moves == ()


def test_a_branch_that_renames_everything_costs_a_bounded_number_of_comparisons(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compared = []

    class Counting(SequenceMatcher[str]):
        def ratio(self) -> float:
            compared.append(1)
            return super().ratio()

    monkeypatch.setattr(moved_code, "SequenceMatcher", Counting)
    old, new = ({f"{side}_{number}": 2.0 for number in range(300)} for side in ("old", "new"))
    code = [
        CodeDifference(name=name, base=9, head=9, lines=tuple(f"{sign}mov r{line}, 1" for line in range(150)))
        for names, sign in ((old, "-"), (new, "+"))
        for name in names
    ]
    functions(old, new, Row(verdict="regression"), code=code)

    assert 0 < len(compared) <= 50


def test_a_rename_is_not_the_cause_of_a_change() -> None:
    slower = Row(head=2010.0, verdict="regression", ci_low=0.0045, ci_high=0.0055)
    found = functions({"alloc": 40.0, "lookup": 50.0}, {"alloc_new": 40.0, "lookup": 60.0}, row=slower)
    assert name_causes([found]) == ("lookup executes more instructions",)
    assert found.changes[0].function.name == "lookup"


FASTER = Row(head=1980.0, verdict="improvement", ci_low=-0.011, ci_high=-0.009)


def test_rows_in_which_one_function_went_to_several_have_one_cause() -> None:
    base = {"update": 100.0, "hash": 60.0}
    both = functions({**base, "delete": 90.0}, {"update": 110.0, "delete": 120.0}, row=FASTER)
    update = functions(base, {"update": 140.0}, row=FASTER)
    delete = functions({"delete": 90.0, "hash": 60.0}, {"delete": 130.0}, row=FASTER)
    assert name_causes([both, update]) == ("hash inlined into delete and update",)
    assert name_causes([update, delete]) == ("hash inlined into update and delete",)
    assert name_causes([update], lambda name: f"`{name}`") == ("`hash` inlined into `update`",)


def test_a_cause_names_three_functions_and_counts_the_others() -> None:
    names = ("a", "b", "c", "d", "e")
    rows = [functions({name: 90.0, "hash": 60.0}, {name: 130.0}, row=FASTER) for name in names]
    assert name_causes(rows) == ("hash inlined into a and b and c and 2 more",)


def test_what_a_new_function_took_is_not_inlined() -> None:
    split = functions({"hash": 80.0}, {"hash_words": 40.0, "lookup": 20.0}, row=FASTER)
    assert name_causes([split]) == ("hash now part of hash_words and lookup",)
