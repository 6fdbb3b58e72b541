"""Functions that changed in a case whose value did not: instructions per call, base against head.

Only functions whose code differs are considered, so a kernel against itself has none: its differences are
ticks and page faults. The instructions of a call are known exactly, while a change of the case may be lost in
its repeatability.
"""

from collections.abc import Sequence

from cliffwatch.comparing.attribution.changes import FunctionChange, Move, function_changes
from cliffwatch.comparing.attribution.moved_code import Differing, instructions
from cliffwatch.comparing.attribution.moves import find_moves, order_by_net
from cliffwatch.comparing.attribution.operations import Function, OperationCounts, mean_of, plain_name
from cliffwatch.comparing.thresholds import (
    CALL_SHARE,
    CALLS_APART,
    CALLS_SHARE,
    FEWEST_CALLS,
    FEWEST_COUNTED,
    LEAST_OF_A_CALL,
    OPERATION_SHARE,
    PATH_SHARE,
)
from cliffwatch.formats.code.differences import ArmCode, CodeDifference, ProgramDifference

_SAME_CALLS, _INLINED = 1.02, 2.0
"""Factors within which a new function has the calls and the instructions of those that it replaced."""
_AS_MANY, _AS_MANY_CALLS = 1.25, 1.5
"""The same where the calls differ: instructions must then be closer."""


def differing_functions(image: ArmCode | None) -> Differing | None:
    """Functions and BPF programs of an arm that execute other instructions than the first arm's.

    The same code at other addresses does not count. None if the code is unknown.
    """
    if image is None:
        return None
    programs = {Function("bpf", plain_name(each.name)): each for each in image.programs if _differs(each)}
    return programs | {
        Function("kernel", plain_name(each.name)): each for each in image.functions if _differs(each)
    }


def _differs(each: CodeDifference | ProgramDifference) -> bool:
    """True if it has other instructions or constants. A variable at another address is no difference."""
    return each.more > 0 or not each.lines or instructions(each.lines, "-") != instructions(each.lines, "+")


def hidden_changes(
    base: Sequence[OperationCounts], head: Sequence[OperationCounts], differing: Differing, *, apart: float
) -> tuple[tuple[FunctionChange, ...], tuple[Move, ...]]:
    """Changed functions on the case's path whose code differs, the costliest first, and their moves.

    These are functions whose instructions per call differ by more than between boots of one arm, and
    functions that only one side executes. A function with the same code is in a move only: it was called in
    place of inlined code. `apart` is the fraction by which the case differs between equal
    kernels: changes below it are real only as the other side of a move.
    """
    small = [
        change
        for change in function_changes(mean_of(base), mean_of(head))
        if _is_real(change, base, head, 0.0)
        and (change.function in differing or _is_called_otherwise(change, base, head, 0.0))
    ]
    real = {
        each.function for each in small if each.function in differing and _is_real(each, base, head, apart)
    }
    moves = tuple(each for each in find_moves(small, differing) if not real.isdisjoint(each.functions))
    shown = real.union(*(each.functions for each in moves))
    return order_by_net((each for each in small if each.function in shown), moves), moves


def changed_calls(
    base: Sequence[OperationCounts], head: Sequence[OperationCounts], differing: Differing
) -> tuple[FunctionChange, ...]:
    """The same in instructions per call, for a case counted as a whole.

    Only functions that take at least `PATH_SHARE` of its instructions. Those that changed the case most stand
    first; a function that replaced others counts with the net.
    """
    before, after = mean_of(base), mean_of(head)
    whole = [sum(side.instructions.values()) for side in (before, after)]
    found = [
        change
        for change in function_changes(before, after)
        if max(change.base / whole[0], change.head / whole[1]) >= PATH_SHARE
        and change.function in differing
        and _is_real(change, base, head, 0.0)
    ]
    nets = _replaced(found)
    found.sort(key=lambda each: (-abs(nets.get(each.function, each.change)), each.function.name))
    return tuple(
        FunctionChange(each.function, *_of_a_call(each), of_case=each.change / whole[0]) for each in found
    )


def _replaced(changes: Sequence[FunctionChange]) -> dict[Function, float]:
    """Returns the net change of each function that replaced others, or was replaced.

    A replacement is called as often and takes about as many instructions: pages are cleared by another
    function, a renamed allocator has its helper inlined. The net counts on the side whose change has its
    direction; the other side counts nothing.
    """
    gone, nets = [each for each in changes if each.gone], dict[Function, float]()
    for new in sorted((each for each in changes if each.new), key=lambda each: -each.head):
        left = [each for each in gone if each.function not in nets]
        alike = [each for each in left if _is_near(each.base_calls, new.head_calls, _SAME_CALLS)]
        if not _is_near(sum(each.base for each in alike), new.head, _INLINED):
            alike = [
                each
                for each in left
                if _is_near(each.base, new.head, _AS_MANY)
                and _is_near(each.base_calls, new.head_calls, _AS_MANY_CALLS)
            ][:1]
        net = new.head - sum(each.base for each in alike)
        if alike:
            nets |= dict.fromkeys((each.function for each in alike), min(0.0, net))
            nets[new.function] = max(0.0, net)
    return nets


def _is_near(value: float | None, other: float | None, factor: float) -> bool:
    return bool(value and other and max(value, other) <= factor * min(value, other))


def changed_in_operations(
    base: Sequence[OperationCounts],
    head: Sequence[OperationCounts],
    differing: Differing,
    *,
    measured: tuple[float, float],
    changed: bool,
) -> tuple[FunctionChange, ...]:
    """Functions of a whole case with counted operations, in instructions per operation, costliest first.

    They change an operation by `OPERATION_SHARE` of it. Set-up and faults, which take other paths each time,
    change less: two kernels that differ in other code had 0.03 % a function in loads of 200,000 instructions.
    Considered are functions whose code differs; if the value changed, also those that only one side executes
    and that make a tenth of its change. User space is set-up. `measured` are the values of base and head.
    """
    least = OPERATION_SHARE * max(measured)
    of_change = max(least, abs(measured[1] - measured[0]) / 10)
    found = [
        each
        for each in function_changes(mean_of(base), mean_of(head))
        if each.function.object != "user"
        and (
            (each.function in differing and abs(each.change) >= least)
            or (changed and (each.new or each.gone) and abs(each.change) >= of_change)
        )
    ]
    return tuple(sorted(found, key=lambda each: (-abs(each.change), each.function.name)))


def _of_a_call(change: FunctionChange) -> tuple[float, float]:
    """Instructions per call of a function in base and head; 0 on a side that does not execute it."""
    sides = ((change.base, change.base_calls), (change.head, change.head_calls))
    base, head = (count / calls if calls else 0.0 for count, calls in sides)
    return base, head


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
    """True if every boot calls the function at least once in a hundred operations.

    The calls must be so many that ticks average out. Returns `unknown` if the calls were not counted.
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
    """True if an operation calls it more or less often, beyond the differences between boots of one arm."""
    if any(boot.whole for boot in (*base, *head)):
        return False
    before, after = change.base_calls or 0.0, change.head_calls or 0.0
    of_arms = [[boot.calls.get(change.function, 0.0) for boot in boots] for boots in (base, head)]
    apart = max(max(calls) - min(calls) for calls in of_arms)
    return abs(after - before) > max(CALLS_SHARE * before, CALLS_APART * case_apart * before, 2 * apart)


def _spread(function: Function, boots: Sequence[OperationCounts]) -> float:
    """Range over the boots of an arm, in instructions per call."""
    of_boots = [
        boot.instructions.get(function, 0.0) / boot.calls[function]
        for boot in boots
        if boot.calls.get(function)
    ]
    return max(of_boots, default=0.0) - min(of_boots, default=0.0)
