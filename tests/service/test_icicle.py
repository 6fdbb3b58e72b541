"""The icicle of a case: boxes add up, sides share a scale, and names of guests are harmless."""

import math

import pytest

from cliffwatch.comparing.attribution.operations import Function, OperationCounts
from cliffwatch_service.web.layout.icicle import Box, icicle_of

LOOKUP, PROGRAM, BENCH = Function("kernel", "lookup"), Function("bpf", "loop"), Function("user", "bench")


def counts(instructions: dict[Function, float], *, whole: bool = False) -> OperationCounts:
    return OperationCounts(instructions, {}, whole=whole)


def boxes(side: list[Box], level: int) -> dict[str, tuple[float, float, str]]:
    return {
        each.title.partition(":")[0]: (each.left, each.width, each.kind)
        for each in side
        if each.level == level
    }


def test_both_sides_share_the_scale_of_the_larger_one() -> None:
    icicle = icicle_of(counts({LOOKUP: 50, PROGRAM: 50}), counts({LOOKUP: 150, PROGRAM: 50}))

    assert icicle is not None
    assert boxes(icicle.base, 0) == {"all": (0, 50, "more")}
    assert boxes(icicle.base, 1) == {"kernel": (0, 25, "more"), "BPF programs": (25, 25, "same")}
    assert boxes(icicle.head, 1) == {"kernel": (0, 75, "more"), "BPF programs": (75, 25, "same")}
    assert icicle.parts == [("kernel", 50, 150), ("BPF programs", 50, 50)]


def test_a_function_that_is_gone_has_a_box_in_base_alone() -> None:
    icicle = icicle_of(counts({LOOKUP: 10, PROGRAM: 90}), counts({PROGRAM: 90}))

    assert icicle is not None
    assert boxes(icicle.base, 2)["lookup"] == (0, 10, "less")
    assert set(boxes(icicle.head, 2)) == {"loop"}
    assert set(boxes(icicle.head, 1)) == {"BPF programs"}


def test_functions_too_narrow_to_see_are_one_box_and_nothing_is_lost() -> None:
    small = {Function("kernel", f"small_{number}"): 0.01 for number in range(2_000)}
    icicle = icicle_of(counts({LOOKUP: 80, **small}), counts({LOOKUP: 80, **small}))

    assert icicle is not None
    assert set(boxes(icicle.head, 2)) == {"lookup", "2000 smaller"}
    for level in (0, 1, 2):
        assert math.isclose(sum(each.width for each in icicle.head if each.level == level), 100, abs_tol=0.01)


def test_a_difference_of_less_than_half_a_per_cent_is_not_coloured() -> None:
    icicle = icicle_of(counts({LOOKUP: 100.0, BENCH: 100.0}), counts({LOOKUP: 100.9, BENCH: 102.0}))

    assert icicle is not None
    assert {name: kind for name, (_, _, kind) in boxes(icicle.head, 2).items()} == {
        "bench": "more",
        "lookup": "same",
    }


@pytest.mark.parametrize(
    ("base", "head"), [(counts({}), counts({})), (counts({LOOKUP: 1}, whole=True), counts({LOOKUP: 1}))]
)
def test_without_operations_or_counts_nothing_is_drawn(base: OperationCounts, head: OperationCounts) -> None:
    assert icicle_of(base, head) is None


def test_a_name_moves_no_cursor_and_turns_no_line() -> None:
    icicle = icicle_of(counts({}), counts({Function("bpf", "a\u202e\x1b[2Jb"): 1.0}))

    assert icicle is not None
    assert all(character.isprintable() for each in icicle.head for character in each.title + each.label)
