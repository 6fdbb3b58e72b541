"""Functions that changed in a case whose value did not: instructions of a call, base against head.

Only functions whose code differs are asked, so that a kernel against itself has none: what differs there is what ran, a tick or a page fault.
What a call of such a function executes is known to the instruction, where a change of the case drowns in its repeatability.
"""

from collections.abc import Container, Iterable, Sequence

from cliffwatch.comparing.attribution.changes import FunctionChange, function_changes
from cliffwatch.comparing.attribution.operations import Function, OperationCounts, mean_of, plain_name
from cliffwatch.comparing.thresholds import CALL_SHARE, FEWEST_CALLS, LEAST_OF_A_CALL, PATH_SHARE
from cliffwatch.formats.code.differences import ArmCode, CodeDifference, ProgramDifference


def differing_functions(image: ArmCode | None) -> frozenset[Function]:
    """The functions and BPF programs of an arm whose code executes something else than the first arm's, and not the same at other addresses."""
    if image is None:
        return frozenset()
    kernel = {Function("kernel", plain_name(each.name)) for each in image.functions if _differs(each)}
    return frozenset(kernel | {Function("bpf", plain_name(each.name)) for each in image.programs if _differs(each)})


def _differs(each: CodeDifference | ProgramDifference) -> bool:
    """Whether it has other instructions: an address of a variable that lies elsewhere makes none."""
    return each.more > 0 or not each.lines or _words(each.lines, "-") != _words(each.lines, "+")


def _words(lines: Iterable[str], sign: str) -> list[str]:
    """The names of the instructions that only one side has, in their order."""
    return [line[1:].partition(" ")[0] for line in lines if line.startswith(sign)]


def hidden_changes(
    base: Sequence[OperationCounts], head: Sequence[OperationCounts], differing: Container[Function]
) -> tuple[FunctionChange, ...]:
    """The changes of functions on the case's path whose code differs, the largest first: instructions of a call beyond what boots of one arm
    differ by, and functions that only one side executes.
    """
    found = [
        change
        for change in function_changes(mean_of(base), mean_of(head))
        if change.function in differing and _is_real(change, base, head)
    ]
    return tuple(sorted(found, key=lambda each: (-abs(each.change), each.function.name)))


def changed_calls(
    base: Sequence[OperationCounts], head: Sequence[OperationCounts], differing: Container[Function]
) -> tuple[FunctionChange, ...]:
    """The same in instructions of a call, of a case that was counted as a whole: functions that it spends some of its instructions in."""
    before, after = mean_of(base), mean_of(head)
    least = [PATH_SHARE * sum(side.instructions.values()) for side in (before, after)]
    found = []
    for change in function_changes(before, after):
        on_path = change.base >= least[0] or change.head >= least[1]
        if on_path and change.function in differing and change.per_call is not None and _is_real(change, base, head):
            found.append(FunctionChange(change.function, *change.per_call))
    return tuple(sorted(found, key=lambda each: (-abs(each.change), each.function.name)))


def _is_real(change: FunctionChange, base: Sequence[OperationCounts], head: Sequence[OperationCounts]) -> bool:
    if change.new or change.gone:
        return abs(change.change) > LEAST_OF_A_CALL
    if min(change.base_calls or 0.0, change.head_calls or 0.0) < FEWEST_CALLS or change.per_call is None:
        return False
    before, after = change.per_call
    apart = max(_spread(change.function, boots) for boots in (base, head))
    return abs(after - before) > max(LEAST_OF_A_CALL, CALL_SHARE * before, apart)


def _spread(function: Function, boots: Sequence[OperationCounts]) -> float:
    """How far the boots of an arm lie apart, in instructions of a call."""
    of_boots = [
        boot.instructions.get(function, 0.0) / boot.calls[function] for boot in boots if boot.calls.get(function)
    ]
    return max(of_boots, default=0.0) - min(of_boots, default=0.0)
