"""A case without a change says which function it hides; a kernel against itself hides none."""

import math
from dataclasses import dataclass

import pytest

from cliffwatch.comparing.attribution.blocks import block_of
from cliffwatch.comparing.attribution.operations import Function, OperationCounts
from cliffwatch.comparing.attribution.per_call import differing_functions
from cliffwatch.comparing.attribution.row import row_functions
from cliffwatch.formats.code.differences import ArmCode, CodeDifference
from cliffwatch.formats.verdicts import Verdict
from cliffwatch.samples import CaseKey

RESERVE = Function("kernel", "__bpf_ringbuf_reserve")
SUBMIT = Function("kernel", "bpf_ringbuf_submit")
TRACK = Function("kernel", "arg_track")
REST = Function("kernel", "rest")
CHECK = Function("kernel", "do_check_common")
CLEAR = Function("kernel", "clear_page_erms")
CLEAR_MANY = Function("kernel", "clear_highpages")
UNMAP = Function("kernel", "unmap_page_range")
CASE = CaseKey("ringbufs", "rb-custom")


@dataclass(frozen=True)
class Unchanged:
    """A row that did not change, of a value that repeats to a thousandth."""

    unit: str = "insns/op"
    base: float = 1000.0
    head: float = 1000.2
    ci_low: float = -0.001
    ci_high: float = 0.001
    verdict: Verdict = "unchanged"


def boot(
    instructions: dict[Function, float], calls: dict[Function, float] | None = None, *, whole: bool = False
) -> OperationCounts:
    filled = {**instructions, REST: 1000.0 - sum(instructions.values())}
    made = dict.fromkeys(filled, 1.0) if calls is None else calls
    return OperationCounts(filled, made, whole=whole, operations=1.0 if whole else math.inf)


def differ(*functions: Function) -> dict[Function, CodeDifference]:
    return {each: difference(each.name) for each in functions}


def sentence(base: list[OperationCounts], head: list[OperationCounts], *differing: Function) -> str | None:
    found = row_functions(Unchanged(), base, head, differing=differ(*differing))
    return block_of(CASE, found).sentence if found is not None and found.hidden_in else None


def test_a_function_whose_code_differs_is_named_by_its_call() -> None:
    said = sentence([boot({RESERVE: 112.0})], [boot({RESERVE: 114.0})], RESERVE)
    assert said == "unchanged; __bpf_ringbuf_reserve slower, +2.00 instructions per call"


def test_a_row_that_is_not_decided_is_not_told_as_unchanged() -> None:
    row = Unchanged(verdict="inconclusive")
    found = row_functions(row, [boot({RESERVE: 112.0})], [boot({RESERVE: 114.0})], differing=differ(RESERVE))
    assert found is not None
    assert (
        block_of(CASE, found).sentence
        == "inconclusive; __bpf_ringbuf_reserve slower, +2.00 instructions per call"
    )


@pytest.mark.parametrize("verdict", ["invalid", "failed", "missing"])
def test_a_row_that_was_not_judged_names_no_function(verdict: Verdict) -> None:
    row = Unchanged(verdict=verdict, head=1100.0)
    assert row_functions(row, [boot({RESERVE: 112.0})], [boot({RESERVE: 212.0})], differing={}) is None


def test_without_a_difference_in_code_nothing_is_hidden() -> None:
    assert sentence([boot({RESERVE: 112.0})], [boot({RESERVE: 114.0})]) is None


@pytest.mark.parametrize(
    ("base", "head", "told"),
    [
        ([112.0], [112.005], False),  # below what is told of a call
        ([112.0, 112.4], [112.3, 112.1], False),  # boots of one kernel lie farther apart
        ([112.0, 112.1], [112.5, 112.4], True),
        ([100_000.0], [100_004.0], False),  # a part of a call
    ],
)
def test_a_change_is_beyond_what_boots_differ_by(base: list[float], head: list[float], told: bool) -> None:
    ours, theirs = ([boot({RESERVE: value}) for value in side] for side in (base, head))
    assert (sentence(ours, theirs, RESERVE) is not None) == told


def test_what_is_called_once_in_a_thousand_operations_is_no_cause() -> None:
    rare = {RESERVE: 0.001}
    assert sentence([boot({RESERVE: 0.1}, rare)], [boot({RESERVE: 0.2}, rare)], RESERVE) is None


def test_what_a_boot_never_calls_is_no_cause() -> None:
    called, never = boot({RESERVE: 112.0}, {RESERVE: 1.0}), boot({}, {REST: 1.0})
    assert sentence([called, never], [boot({RESERVE: 114.0})], RESERVE) is None
    assert sentence([never], [called, never], RESERVE) is None


def test_a_handful_of_calls_is_no_cause() -> None:
    ours, theirs = (boot({RESERVE: value})._replace(operations=99) for value in (112.0, 114.0))
    assert sentence([ours], [theirs], RESERVE) is None
    assert sentence([ours._replace(operations=100)], [theirs._replace(operations=100)], RESERVE) is not None


def test_a_function_that_is_called_more_often_is_named() -> None:
    said = sentence([boot({RESERVE: 112.0})], [boot({RESERVE: 224.0}, {RESERVE: 2.0})], RESERVE)
    assert said == "unchanged; __bpf_ringbuf_reserve slower, called 1.00 to 2.00 times an operation"


def test_a_case_that_differs_between_equal_kernels_hides_nothing_smaller() -> None:
    row = Unchanged(ci_low=-0.02, ci_high=0.02)
    for head, told in ((113.0, False), (116.0, True)):
        found = row_functions(
            row, [boot({RESERVE: 112.0})], [boot({RESERVE: head})], differing=differ(RESERVE)
        )
        assert (found is not None and found.hidden_in is not None) == told


def test_of_a_whole_case_what_is_little_of_it_is_no_cause() -> None:
    calls = {RESERVE: 10_000.0}
    base, head = (
        OperationCounts({RESERVE: each, REST: 100_000_000.0}, calls, whole=True, operations=1.0)
        for each in (1_120_000.0, 1_140_000.0)
    )
    assert row_functions(Unchanged(), [base], [head], differing=differ(RESERVE)) is None


def loading(verifier: float, *, faults: float = 2000.0) -> OperationCounts:
    """A case with its set-up, of twenty loads: instructions of an average one."""
    counts = {CHECK: verifier, UNMAP: faults, REST: 2_500_000.0}
    return OperationCounts(counts, {CHECK: 1.0, UNMAP: 0.5}, whole=True, operations=20.0)


@pytest.mark.parametrize(
    ("verdict", "begins"), [("regression", "+1000.00 measured; "), ("unchanged", "unchanged; ")]
)
def test_of_a_case_with_its_set_up_functions_are_compared_by_counted_operations(
    verdict: Verdict, begins: str
) -> None:
    row = Unchanged("insns/load", base=200_000.0, head=201_000.0, verdict=verdict)
    found = row_functions(row, [loading(20_000.0)], [loading(21_000.0)], differing=differ(CHECK))
    assert found is not None
    block = block_of(CASE, found)
    assert block.sentence == f"{begins}do_check_common slower, +1000.00 an operation on average"
    (line,) = block.rows
    assert (line.base, line.head, line.change) == ("20000.00", "21000.00", "+1000.00")


@pytest.mark.parametrize(
    ("head", "differing"),
    [
        (loading(20_390.0), CHECK),
        (loading(20_000.0, faults=2300.0), UNMAP),
        (loading(21_000.0), RESERVE),
    ],
    ids=["too little of a load", "faults", "the same code"],
)
def test_of_a_case_with_its_set_up_an_unchanged_row_names_nothing_else(
    head: OperationCounts, differing: Function
) -> None:
    row = Unchanged("insns/load", base=200_000.0, head=200_000.0)
    assert row_functions(row, [loading(20_000.0)], [head], differing=differ(differing)) is None


@pytest.mark.parametrize(
    ("base", "named"), [(0.0, True), (18_000.0, False)], ids=["executed in head alone", "executed in both"]
)
def test_of_a_changed_row_a_function_that_one_side_executes_is_named_whatever_its_code(
    base: float, named: bool
) -> None:
    row = Unchanged("insns/load", base=200_000.0, head=204_000.0, verdict="regression")
    found = row_functions(row, [loading(base)], [loading(22_000.0)], differing={})
    assert (found is not None) == named


def test_of_a_case_with_its_set_up_user_space_is_no_cause() -> None:
    row = Unchanged("insns/load", base=200_000.0, head=204_000.0, verdict="regression")
    tool = Function("user", "veristat")
    base, head = loading(20_000.0), loading(22_000.0)
    head = head._replace(instructions={**head.instructions, tool: 90_000.0})
    found = row_functions(row, [base], [head], differing=differ(CHECK))
    assert found is not None
    assert [each.function for each in found.changes] == [CHECK]


def test_cost_that_only_moved_is_said() -> None:
    said = sentence([boot({RESERVE: 112.0})], [boot({RESERVE: 100.0, SUBMIT: 12.0})], RESERVE, SUBMIT)
    assert said == "unchanged; moved from __bpf_ringbuf_reserve to bpf_ringbuf_submit, net 0"


def test_of_cost_that_moved_the_net_is_said() -> None:
    said = sentence([boot({RESERVE: 112.0})], [boot({RESERVE: 12.0, SUBMIT: 105.0})], RESERVE, SUBMIT)
    assert said == "unchanged; moved from __bpf_ringbuf_reserve to bpf_ringbuf_submit, net +5.00"


def test_calls_of_an_operation_stand_beside_the_function() -> None:
    twice = {RESERVE: 2.0}
    found = row_functions(
        Unchanged(),
        [boot({RESERVE: 224.0}, twice)],
        [boot({RESERVE: 228.0}, twice)],
        differing=differ(RESERVE),
    )
    assert found is not None
    (row,) = block_of(CASE, found).rows
    assert (row.base, row.head, row.change) == ("224.00", "228.00", "+4.00")
    assert row.about == "slower, 112.00 to 114.00 a call, 2.00 calls"


def test_of_a_case_that_was_counted_as_a_whole_calls_are_known() -> None:
    calls = {RESERVE: 10_000.0}
    base, head = (whole({RESERVE: each}, calls) for each in (1_120_000.0, 1_140_000.0))
    found = row_functions(
        Unchanged(head=1010.0, verdict="regression"), [base], [head], differing=differ(RESERVE)
    )

    assert found is not None
    block = block_of(CASE, found)
    assert block.sentence == "+10.00 measured; __bpf_ringbuf_reserve slower, +2.00 instructions per call"
    (row,) = block.rows
    assert (row.base, row.head, row.about) == (
        "112.00",
        "114.00",
        "of a call, +0.2 % of the case",
    )
    assert row_functions(Unchanged(verdict="regression"), [base], [head]) is None


def test_of_a_case_that_was_counted_as_a_whole_a_new_function_is_named_by_its_share() -> None:
    calls = {RESERVE: 10_000.0, TRACK: 20_000.0}
    base = whole({RESERVE: 1_120_000.0}, calls)
    head = whole({RESERVE: 1_140_000.0, TRACK: 870_000.0}, calls)
    found = row_functions(
        Unchanged(head=1010.0, verdict="regression"), [base], [head], differing=differ(RESERVE, TRACK)
    )

    assert found is not None
    block = block_of(CASE, found)
    assert block.sentence == (
        "+10.00 measured; arg_track not executed in base, +8.7 % of the case's instructions, and 1 function more"
    )
    assert [row.about for row in block.rows] == [
        "not executed in base, of a call, +8.7 % of the case",
        "of a call, +0.2 % of the case",
    ]


def test_of_a_case_that_was_counted_as_a_whole_the_functions_that_made_it_dearer_stand_first() -> None:
    cleared = {CLEAR: 1_900_000.0}
    base = whole({RESERVE: 1_000_000.0, **cleared}, {RESERVE: 100.0, CLEAR: 460.0})
    head = whole(
        {RESERVE: 400_000.0, CLEAR_MANY: 1_980_000.0, TRACK: 1_400_000.0, CHECK: 900_000.0},
        {RESERVE: 100.0, CLEAR_MANY: 370.0, TRACK: 9_000.0, CHECK: 200.0},
    )
    found = row_functions(
        Unchanged(head=1400.0, verdict="regression"),
        [base],
        [head],
        differing=differ(RESERVE, CLEAR, CLEAR_MANY, TRACK, CHECK),
    )

    assert found is not None
    assert [each.function for each in found.in_direction] == [TRACK, CHECK, CLEAR_MANY]
    assert block_of(CASE, found).sentence.startswith("+400.00 measured; arg_track not executed in base")


def test_a_function_that_took_others_in_is_no_cause_of_its_own() -> None:
    base = whole({RESERVE: 300_000.0, SUBMIT: 620_000.0, CHECK: 400_000.0}, {RESERVE: 840.0, SUBMIT: 842.0})
    head = whole({TRACK: 910_000.0, CHECK: 700_000.0}, {TRACK: 841.0})
    calls = {CHECK: 500.0}
    found = row_functions(
        Unchanged(head=1400.0, verdict="regression"),
        [base._replace(calls={**base.calls, **calls})],
        [head._replace(calls={**head.calls, **calls})],
        differing=differ(RESERVE, SUBMIT, TRACK, CHECK),
    )

    assert found is not None
    assert [each.function for each in found.in_direction] == [CHECK, TRACK]


def whole(instructions: dict[Function, float], calls: dict[Function, float]) -> OperationCounts:
    """A case of ten million instructions with its set-up, whose operations are unknown."""
    left = 10_000_000.0 - sum(instructions.values())
    return OperationCounts({**instructions, REST: left}, calls, whole=True, operations=1.0)


def image(*functions: CodeDifference) -> ArmCode:
    return ArmCode(arm="head", functions=functions)


def difference(name: str, *lines: str) -> CodeDifference:
    return CodeDifference(name=name, base=112, head=112, lines=lines)


def test_code_that_lies_elsewhere_executes_nothing_else() -> None:
    moved = difference(
        "lookup", "@@ -3 +3 @@", "-mov rax, qword ptr gs:[0x2c540]", "+mov rax, qword ptr gs:[0x2c580]"
    )
    longer = difference(
        "reserve.isra.0", "@@ -3 +3,2 @@", "-mov rax, rdi", "+mov rax, rdi", "+lock inc qword ptr [x]"
    )
    turned = difference("submit", "-je .+4", "+jne .+4")
    elsewhere = difference(
        "wait", "-mov rax, qword ptr [sem+30{170ce7dd}]", "+mov rax, qword ptr [sem+30{0d642429}]"
    )
    bound = difference("drain", "-cmp eax, 16", "+cmp eax, 32")

    found = differing_functions(image(moved, longer, turned, elsewhere, bound))

    assert found is not None
    assert set(found) == {Function("kernel", name) for name in ("reserve", "submit", "drain")}
    assert differing_functions(None) is None
