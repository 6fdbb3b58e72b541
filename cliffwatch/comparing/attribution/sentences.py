"""What functions did, in words: a sentence for a case, and facts about each function."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from cliffwatch.comparing.thresholds import LEAST_OF_A_CALL
from cliffwatch.counting import count_noun

if TYPE_CHECKING:  # reports that have nothing counted by function load nothing of it
    from cliffwatch.comparing.attribution.changes import CaseFunctions, FunctionChange, Move
    from cliffwatch.comparing.attribution.operations import Function
    from cliffwatch.formats.code.differences import CodeDifference, ProgramDifference

_OBJECTS = {"kernel": "", "bpf": "BPF", "user": "user space"}
_MOST_NAMED = 3


def summarise_functions(found: "CaseFunctions") -> str:
    """How much of a change the functions explain; of an unchanged row, what its functions did.

    `unchanged; __bpf_ringbuf_reserve slower, +2.00 instructions per call; moved from a to b, net 0`
    """
    measured = f"{found.measured:+.2f} measured"
    if found.hidden_in or found.by_call or found.averaged:
        return "; ".join((found.hidden_in or measured, *_own(found), *map(describe_move, found.moves)))
    if not found.changes:
        return f"{measured}, in no function by more than {found.band:.2f}"
    if found.explained:
        return f"{measured}, {found.summed:+.2f} in functions"
    return f"{measured}, and only {found.summed:+.2f} in functions: the rest is not attributed"


def describe_move(move: "Move") -> str:
    """`moved from a and b to c, net +2.00`, `a renamed to b, net 0`."""
    net = f"net {_net(move)}"
    if move.renamed:
        return f"{move.sources[0].name} renamed to {move.targets[0].name}, {net}"
    return f"moved from {_names(move.sources)} to {_names(move.targets)}, {net}"


def _net(move: "Move") -> str:
    return "0" if abs(move.change) <= LEAST_OF_A_CALL else f"{move.change:+.2f}"


def _names(functions: "Sequence[Function]") -> str:
    names = [each.name for each in functions[:_MOST_NAMED]]
    left = len(functions) - len(names)
    if left:
        names.append(f"{left} more")
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _own(found: "CaseFunctions") -> Iterator[str]:
    """The change of the function that changed most for itself, and how many others did."""
    changes = found.in_direction
    if not changes:
        return
    first, *others = changes
    more = f", and {count_noun(len(others), 'function')} more" if others else ""
    did = (
        _absent(first)
        if (found.by_call or found.averaged) and (first.new or first.gone)
        else found.verdict_of(first)
    )
    yield f"{first.function.name} {did}, {_size(first, found)}{more}"


def _absent(change: "FunctionChange") -> str:
    return f"not executed in {'base' if change.new else 'head'}"


def _size(change: "FunctionChange", found: "CaseFunctions") -> str:
    by_call = found.by_call
    per_call = (change.base, change.head) if by_call else change.per_call
    if found.averaged:
        return f"{change.change:+.2f} an operation on average"
    if change.of_case is not None and (change.new or change.gone):
        return f"{change.of_case:+.1%} of the case's instructions".replace("%", " %")
    if per_call is None:
        return f"{change.change:+.2f} per operation"
    if abs(per_call[1] - per_call[0]) <= LEAST_OF_A_CALL and not by_call:
        return f"called {change.base_calls:.2f} to {change.head_calls:.2f} times an operation"
    return f"{per_call[1] - per_call[0]:+.2f} instructions per call"


def describe_change(
    change: "FunctionChange", found: "CaseFunctions", different: "CodeDifference | ProgramDifference | None"
) -> Iterator[str]:
    """Facts about a function beside its counts."""
    kind = _OBJECTS[change.function.object]
    if kind and kind != change.function.name:
        yield kind
    move = next((each for each in found.moves if change.function in each.functions), None)
    if move is not None and (change.new or change.gone or not _has_one_sided(move, found)):
        yield _part_in(move, change)
    elif change.new or change.gone:
        yield _absent(change)
    if found.hidden_in and (move is None or not (change.new or change.gone)):
        yield found.verdict_of(change)
    yield from _per_call(change, found)
    yield from _sizes(different)


def _has_one_sided(move: "Move", found: "CaseFunctions") -> bool:
    """True if a function of the move is new or gone, whose own line then names the others."""
    return any((each.new or each.gone) and each.function in move.functions for each in found.changes)


def _part_in(move: "Move", change: "FunctionChange") -> str:
    """`was part of get: net +9.00`; `cost from get` if both kernels execute the function."""
    is_target = change.function in move.targets
    others = _names(move.sources if is_target else move.targets)
    if move.renamed:
        return f"{'was' if is_target else 'now'} {others}: net {_net(move)}"
    if change.new or change.gone:
        return f"{'was' if is_target else 'now'} part of {others}: net {_net(move)}"
    return f"cost {'from' if is_target else 'went to'} {others}"


def _per_call(change: "FunctionChange", found: "CaseFunctions") -> Iterator[str]:
    """Instructions per call, unless an operation makes exactly one call."""
    if found.by_call:
        yield "of a call"
    if change.of_case is not None:
        yield f"{change.of_case:+.1%} of the case".replace("%", " %")
    if found.averaged:
        yield "average"
        return
    per_call = change.per_call
    if per_call is None or change.base_calls is None or change.head_calls is None:
        return
    before, after = per_call
    calls = (f"{change.base_calls:.2f}", f"{change.head_calls:.2f}")
    if calls == ("1.00", "1.00"):
        return
    how_often = f"{calls[0]} calls" if calls[0] == calls[1] else f"{calls[0]} to {calls[1]} calls"
    yield f"{before:.2f} to {after:.2f} a call, {how_often}"


def _sizes(different: "CodeDifference | ProgramDifference | None") -> Iterator[str]:
    """Size of a function's code, if both kernels have the function."""
    if different is not None and different.base is not None and different.head is not None:
        same = different.base == different.head
        yield (
            f"other code, {different.base} bytes"
            if same
            else f"code {different.base} to {different.head} bytes"
        )
