"""Which functions explain a change, and when they do not."""

from dataclasses import dataclass, replace

import msgspec
import pytest

from cliffwatch.comparing.attribution.blocks import blocks_of_cases
from cliffwatch.comparing.attribution.changes import CaseFunctions, Move, case_functions
from cliffwatch.comparing.attribution.moves import find_moves
from cliffwatch.comparing.attribution.operations import (
    Function,
    OperationCounts,
    mean_of,
    operation_counts,
    plain_name,
)
from cliffwatch.comparing.attribution.row import row_functions
from cliffwatch.formats.code.function_counts import CaseCounts, CountedFunction, FunctionCountsRecord
from cliffwatch.formats.verdicts import Verdict
from cliffwatch.parsers.per_operation import nanoseconds
from cliffwatch.samples import CaseKey


@dataclass(frozen=True)
class ComparedRow:
    """A row, as far as functions are asked for."""

    unit: str
    base: float
    head: float
    ci_low: float
    ci_high: float
    verdict: Verdict = "regression"


def once(instructions: dict[Function, float]) -> OperationCounts:
    return OperationCounts(instructions, {})


def kernel(**counts: float) -> dict[Function, float]:
    return {Function("kernel", name): count for name, count in counts.items()}


def compared(base: dict[Function, float], head: dict[Function, float], band: float = 0.05) -> CaseFunctions:
    found = case_functions(
        once(base), once(head), measured=(sum(base.values()), sum(head.values())), band=band
    )
    return replace(found, moves=find_moves(found.changes))


def names(move: Move) -> tuple[list[str], list[str]]:
    return [each.name for each in move.sources], [each.name for each in move.targets]


def test_code_out_of_line_is_one_move() -> None:
    found = compared(kernel(get=32.0, rest=150.0), kernel(get=29.0, lookup=12.0, rest=150.001))

    assert [(each.function.name, each.change) for each in found.changes] == [("lookup", 12.0), ("get", -3.0)]
    (move,) = found.moves
    assert names(move) == (["get"], ["lookup"])
    assert move.change == 9.0
    assert found.explained


def test_an_inlined_function_is_one_move() -> None:
    (move,) = compared(kernel(get=29.0, lookup=12.0), kernel(get=32.0)).moves

    assert names(move) == (["lookup"], ["get"])
    assert move.change == -9.0


def test_a_function_that_is_new_by_itself_moved_from_nowhere() -> None:
    assert compared(kernel(get=30.0), kernel(get=30.0, audit=12.0)).moves == ()


def test_nothing_within_the_band_is_shown() -> None:
    found = compared(kernel(get=30.0, tick=1.0), kernel(get=30.04, tick=0.97))

    assert found.changes == ()
    assert found.explained


def test_changes_of_a_two_thousandth_are_noise_whatever_the_interval() -> None:
    row = ComparedRow(unit="ns/op", base=100.0, head=100.0, ci_low=0.0, ci_high=0.0)

    found = row_functions(row, [once(kernel(get=99.9, tick=0.1))], [once(kernel(get=99.86, tick=0.14))])

    assert found is not None
    assert found.changes == ()


def test_functions_that_do_not_add_up_are_not_an_explanation() -> None:
    found = case_functions(
        once(kernel(get=100.0)), once(kernel(get=101.0)), measured=(100.0, 105.0), band=0.05
    )

    assert found.measured == 5.0
    assert found.summed == pytest.approx(1.0)
    assert not found.explained


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("lookup.isra.0", "lookup"),
        ("lookup.part.0.cold", "lookup"),
        ("lookup.constprop.0.isra.3", "lookup"),
        ("lookup@2", "lookup"),
        ("lookup_cold", "lookup_cold"),
        (".cold", ".cold"),
    ],
)
def test_copies_that_the_compiler_made_are_one_function(name: str, plain: str) -> None:
    assert plain_name(name) == plain


@pytest.mark.parametrize(
    ("value", "unit", "each"),
    [
        (180.0, "ns/op", 180.0),
        (2.5, "us/op", 2500.0),
        (5.0, "M ops/s", 200.0),
        (4.0, "M/s", 250.0),
        (250.0, "k/s", 4000.0),
        (1.0, "M events/sec", 1000.0),
        (3.0, "MiB", None),
        (12.0, "%", None),
        (0.0, "ns/op", None),
    ],
)
def test_the_time_of_an_operation_follows_from_the_value(value: float, unit: str, each: float | None) -> None:
    assert nanoseconds(value, unit) == each


def counted(
    seconds: float | None, operations: float | None = None
) -> tuple[FunctionCountsRecord, CaseCounts]:
    case = CaseCounts(
        suite="s",
        benchmark="b",
        params={},
        seconds=seconds,
        counts=((0, 900_000_000), (1, 100_000_000)),
        executed=(),
        calls=((0, 2_500_000),),
        operations=operations,
    )
    functions = (
        CountedFunction(name="lookup", object="kernel"),
        CountedFunction(name="lookup.cold", object="kernel"),
    )
    return FunctionCountsRecord(counter="", functions=functions, started=(), cases=(case,)), case


def test_instructions_are_for_an_operation() -> None:
    """A second of 5 million operations: 200 instructions each, of which the counts say where."""
    assert operation_counts(*counted(1.0), 200.0, "ns/op") == (
        {Function("kernel", "lookup"): pytest.approx(200.0)},
        {Function("kernel", "lookup"): pytest.approx(0.5)},
        False,
        pytest.approx(5_000_000),
    )


def test_operations_that_were_counted_go_first() -> None:
    found = operation_counts(*counted(1.0, operations=4_000_000.0), 200.0, "insns/op")
    assert found is not None
    assert found.instructions == {Function("kernel", "lookup"): pytest.approx(250.0)}


def test_a_case_of_which_nothing_was_counted_has_no_counts() -> None:
    record, case = counted(1.0)
    assert operation_counts(record, msgspec.structs.replace(case, counts=()), 200.0, "ns/op") is None


def test_a_case_without_a_window_says_nothing_of_operations() -> None:
    found = operation_counts(*counted(None), 200.0, "ns/op")
    assert found is not None
    assert found.whole
    assert found.instructions == {Function("kernel", "lookup"): 1_000_000_000}


def test_boots_are_averaged_and_absence_is_zero() -> None:
    assert mean_of([once(kernel(get=10.0)), once(kernel(get=20.0, tick=2.0))]) == once(
        kernel(get=15.0, tick=1.0)
    )


def case(name: str) -> CaseKey:
    return CaseKey("suite", name)


def test_cases_that_changed_for_the_same_functions_share_a_block() -> None:
    slower = compared(kernel(get=32.0), kernel(get=29.0, lookup=12.0))
    as_slow = compared(kernel(get=32.5), kernel(get=29.0, lookup=12.0))
    faster = compared(kernel(get=32.0, lookup=2.0), kernel(get=35.0))
    cases = [(case("a"), slower), (case("b"), as_slow), (case("c"), faster), (case("d"), slower)]

    (first, second), left = blocks_of_cases(cases)

    assert (first.case, first.also) == ("a", "the same functions, +8.50 to +9.00 measured: b, d")
    assert (second.case, second.also) == ("c", "")
    assert left == 0


def test_a_case_that_no_function_explains_stands_by_itself() -> None:
    nothing = compared(kernel(get=32.0), kernel(get=32.0))

    blocks, left = blocks_of_cases([(case(name), nothing) for name in "abc"], most=2)

    assert [each.case for each in blocks] == ["a", "b"]
    assert left == 1


def test_many_cases_with_one_cause_are_named_and_counted() -> None:
    slower = compared(kernel(get=32.0), kernel(get=41.0))

    (block,), _ = blocks_of_cases([(case(f"case{number}"), slower) for number in range(12)])

    assert block.also.startswith("the same functions, +9.00 measured: case1, case2,")
    assert block.also.endswith("case8 and 3 more cases")


def user(**counts: float) -> dict[Function, float]:
    return {Function("user", name.replace("_", " ")): count for name, count in counts.items()}


def test_user_space_is_one_row_where_one_side_does_not_know_its_objects() -> None:
    row = ComparedRow(unit="ns/op", base=100.0, head=110.0, ci_low=0.0, ci_high=0.0)

    found = row_functions(
        row,
        [once(kernel(get=50.0) | user(programs=50.0))],
        [once(kernel(get=50.0) | user(bench=40.0, libc=20.0))],
    )

    assert found is not None
    assert [(each.function, each.change) for each in found.changes] == [
        (Function("user", "user space"), 10.0)
    ]


def test_objects_of_user_space_have_rows_of_their_own_where_both_sides_know_them() -> None:
    row = ComparedRow(unit="ns/op", base=100.0, head=110.0, ci_low=0.0, ci_high=0.0)
    base, head = user(bench=90.0, libc=10.0, programs=0.01), user(bench=90.0, libc=20.0)

    found = row_functions(row, [once(base)], [once(head)])

    assert found is not None
    assert [each.function.name for each in found.changes] == ["libc"]
