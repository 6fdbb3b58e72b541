"""Functions that changed in a case whose value did not: instructions of a call, base against head.

Only functions whose code differs are asked, so that a kernel against itself has none: what differs there
is what ran, a tick or a page fault. What a call of such a function executes is known to the instruction,
where a change of the case drowns in its repeatability.
"""

import re
from collections.abc import Container, Iterable, Sequence

from cliffwatch.comparing.attribution.changes import FunctionChange, function_changes
from cliffwatch.comparing.attribution.operations import Function, OperationCounts, mean_of, plain_name
from cliffwatch.comparing.thresholds import (
    CALL_SHARE,
    CALLS_APART,
    CALLS_SHARE,
    FEWEST_CALLS,
    FEWEST_COUNTED,
    LEAST_OF_A_CALL,
    PATH_SHARE,
)
from cliffwatch.formats.code.differences import ArmCode, CodeDifference, ProgramDifference


def differing_functions(image: ArmCode | None) -> frozenset[Function]:
    """The functions and BPF programs of an arm whose code executes something else than the first arm's, and
    not the same at other addresses.
    """
    if image is None:
        return frozenset()
    kernel = {Function("kernel", plain_name(each.name)) for each in image.functions if _differs(each)}
    return frozenset(
        kernel | {Function("bpf", plain_name(each.name)) for each in image.programs if _differs(each)}
    )


_PLACE = re.compile(r"0x[0-9a-f]{4,}|\{[0-9a-f]+\}")
"""What only says where something lies: a variable of each CPU is an offset of five digits, and equal names
have a digest of where they are.
"""


def _differs(each: CodeDifference | ProgramDifference) -> bool:
    """Whether it has other instructions, or other constants: a variable that lies elsewhere makes none."""
    return each.more > 0 or not each.lines or _instructions(each.lines, "-") != _instructions(each.lines, "+")


def _instructions(lines: Iterable[str], sign: str) -> list[str]:
    """The instructions that only one side has, in their order, without the places of what they read."""
    return [_PLACE.sub("", line[1:]) for line in lines if line.startswith(sign)]


def hidden_changes(
    base: Sequence[OperationCounts],
    head: Sequence[OperationCounts],
    differing: Container[Function],
    *,
    apart: float,
) -> tuple[FunctionChange, ...]:
    """The changes of functions on the case's path whose code differs, the largest first: instructions of a
    call beyond what boots of one arm differ by, and functions that only one side executes. `apart`: by
    which fraction the case itself differs between equal kernels.
    """
    found = [
        change
        for change in function_changes(mean_of(base), mean_of(head))
        if change.function in differing and _is_real(change, base, head, apart)
    ]
    return tuple(sorted(found, key=lambda each: (-abs(each.change), each.function.name)))


def changed_calls(
    base: Sequence[OperationCounts], head: Sequence[OperationCounts], differing: Container[Function]
) -> tuple[FunctionChange, ...]:
    """The same in instructions of a call, of a case that was counted as a whole: functions that it spends
    some of its instructions in.
    """
    before, after = mean_of(base), mean_of(head)
    least = [PATH_SHARE * sum(side.instructions.values()) for side in (before, after)]
    found = []
    for change in function_changes(before, after):
        on_path = change.base >= least[0] or change.head >= least[1]
        if (
            on_path
            and change.function in differing
            and change.per_call is not None
            and _is_real(change, base, head, 0.0)
        ):
            found.append(FunctionChange(change.function, *change.per_call))
    return tuple(sorted(found, key=lambda each: (-abs(each.change), each.function.name)))


def _is_real(
    change: FunctionChange,
    base: Sequence[OperationCounts],
    head: Sequence[OperationCounts],
    case_apart: float,
) -> bool:
    if change.new or change.gone:
        on_path = _on_path(change.function, head if change.new else base, unknown=True)
        return on_path and abs(change.change) > LEAST_OF_A_CALL
    if change.per_call is None or not _on_path(change.function, [*base, *head]):
        return False
    before, after = change.per_call
    apart = max(_spread(change.function, boots) for boots in (base, head))
    least = max(LEAST_OF_A_CALL, max(CALL_SHARE, case_apart) * before, apart)
    return abs(after - before) > least or _is_called_otherwise(change, base, head, case_apart)


def _on_path(function: Function, boots: Sequence[OperationCounts], *, unknown: bool = False) -> bool:
    """Whether every boot calls it, once in a hundred operations at least, and so often that no tick makes the
    difference; `unknown` where nobody counted its calls.
    """
    if not any(function in boot.calls for boot in boots):
        return unknown
    calls = [boot.calls.get(function, 0.0) for boot in boots]
    return min(calls) >= FEWEST_CALLS and all(
        each * boot.operations >= FEWEST_COUNTED for each, boot in zip(calls, boots, strict=True)
    )


def _is_called_otherwise(
    change: FunctionChange,
    base: Sequence[OperationCounts],
    head: Sequence[OperationCounts],
    case_apart: float,
) -> bool:
    """Whether an operation calls it more often or more rarely, beyond what boots of one arm differ by."""
    if any(boot.whole for boot in (*base, *head)):
        return False
    before, after = change.base_calls or 0.0, change.head_calls or 0.0
    of_arms = [[boot.calls.get(change.function, 0.0) for boot in boots] for boots in (base, head)]
    apart = max(max(calls) - min(calls) for calls in of_arms)
    return abs(after - before) > max(CALLS_SHARE * before, CALLS_APART * case_apart * before, 2 * apart)


def _spread(function: Function, boots: Sequence[OperationCounts]) -> float:
    """How far the boots of an arm lie apart, in instructions of a call."""
    of_boots = [
        boot.instructions.get(function, 0.0) / boot.calls[function]
        for boot in boots
        if boot.calls.get(function)
    ]
    return max(of_boots, default=0.0) - min(of_boots, default=0.0)
