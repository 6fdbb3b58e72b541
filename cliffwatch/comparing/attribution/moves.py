"""Cost that moved between functions: renamed, taken out of line, inlined, split or put into another one.

What moved is no cost of its own: only its net is. A function that is new, gone or called more or less often
took over from functions whose instructions changed the other way.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from cliffwatch.comparing.attribution.changes import FunctionChange, Move
from cliffwatch.comparing.attribution.moved_code import Differing, MovedCode
from cliffwatch.comparing.thresholds import CALLS_SHARE, LEAST_OF_A_CALL

_TAKEN = 0.1
"""Share of a new function's instructions that others must have lost for code to have moved between them."""
_TAKEN_OF_CALLS = 0.5
"""The same of a function that is only called more or less often, or whose code is the same."""
_CALLED = 0.9
"""Share of the others' calls by which such a function must be called more or less often.

A tick that came more often took over from nobody.
"""
_WHOLE = 0.9
"""Share from which nothing is left that yet another function could have had."""
_PART = 0.05
"""Smallest share of a further function."""
_NET = 0.1
"""Share of the larger change that may remain if cost moved between functions that both kernels execute."""
_LARGEST = 1.5
"""What one function may have got of another's instructions, as a share of them: inlined code grows little."""
_MOST_CHANGES = 500
"""Changed functions of a case, the largest first, among which moves are looked for."""
_MANY = 8
"""Changed functions up to which sizes that fit are taken for a move. Between releases dozens change, and some
always fit.
"""
_EQUAL = 0.005
"""Difference in instructions of functions whose code is unknown, up to which they are the same."""


def find_moves(changes: Iterable[FunctionChange], differing: Differing | None = None) -> tuple[Move, ...]:
    """Moves among the changes of a case; each function is in one at most.

    `differing` None: code unknown. Then cost moves only to or from functions that one side does not have.
    Where code is known, and always among many changes, it shows a move: by the call that came or went, or by
    equal instructions.
    """
    found = sorted(changes, key=lambda each: (-abs(each.change), each.function.name))[:_MOST_CHANGES]
    left = _Left(found, differing, MovedCode(differing or {}), many=len(found) > _MANY)
    moves = (*_renames(left), *_anchored(left), *_inlined(left))
    return (*moves, *(() if left.many else _between_executed(left)))


@dataclass
class _Left:
    """Changes that no move explains yet."""

    changes: list[FunctionChange]
    differing: Differing | None
    code: MovedCode
    many: bool
    """True if so many functions changed that their sizes alone say nothing."""

    def take(self, chosen: Sequence[FunctionChange], *, renamed: bool = False) -> Move:
        taken = {each.function for each in chosen}
        self.changes = [each for each in self.changes if each.function not in taken]
        return Move(
            sources=tuple(each.function for each in chosen if each.change < 0),
            targets=tuple(each.function for each in chosen if each.change >= 0),
            change=sum(each.change for each in chosen),
            renamed=renamed,
        )

    def may_share(self, change: FunctionChange, other: FunctionChange) -> bool:
        """False if their code shows that nothing moved between the two, or if nothing shows that it did."""
        functions = change.function, other.function
        if any(map(self.code.is_known, functions)):
            return self.code.shows_move(*functions)
        return not self.many

    def opposite(self, change: FunctionChange) -> list[FunctionChange]:
        """Functions that may have had or may have got its code, the largest change first."""
        found = [
            each
            for each in self.changes
            if each.change * change.change < 0
            and each.function.object == change.function.object
            and (self.differing is None or each.function in self.differing or _is_anchor(each))
            and self.may_share(change, each)
        ]
        return sorted(found, key=lambda each: (-abs(each.change), each.function.name))


def _renames(left: _Left) -> Iterator[Move]:
    for gone in [each for each in left.changes if each.gone and not each.new]:
        new = [
            each
            for each in left.changes
            if each.new and not each.gone and each.function.object == gone.function.object
            if _is_same(gone, each, left)
        ]
        if new:
            closest = min(new, key=lambda each: abs(each.head - gone.base))
            # The old name stands first, also where both execute the same.
            named = left.take([gone, closest], renamed=True)
            yield Move((gone.function,), (closest.function,), named.change, renamed=True)


def _is_same(gone: FunctionChange, new: FunctionChange, left: _Left) -> bool:
    """True if an operation calls both as often, and their code is alike, or without code their cost.

    Among many changes cost alone says nothing.
    """
    calls = gone.base_calls, new.head_calls
    if calls[0] is not None and calls[1] is not None and abs(calls[0] - calls[1]) > CALLS_SHARE * calls[0]:
        return False
    same = left.code.is_same(gone.function, new.function)
    if same is not None:
        return same
    return not left.many and abs(new.head - gone.base) <= max(LEAST_OF_A_CALL, _EQUAL * gone.base)


def _anchored(left: _Left) -> Iterator[Move]:
    """Moves to or from a function that is new, gone, or called more or less often."""
    for change in sorted(left.changes, key=lambda each: (not (each.new or each.gone), -abs(each.change))):
        if change not in left.changes or not _is_anchor(change):
            continue
        sure = (change.new or change.gone) and (left.differing is None or change.function in left.differing)
        others = _others(change, left.opposite(change), sure=sure)
        if others:
            yield left.take([change, *others])


def _inlined(left: _Left) -> Iterator[Move]:
    """Moves that the code of both functions shows, although the caller executes hardly more, or hardly less.

    Inlined code can need far fewer instructions than the call did.
    """
    for change in [each for each in left.changes if each.new or each.gone]:
        callers = [each for each in left.changes if _is_in_caller(change, each, left)]
        if change not in left.changes or not callers:
            continue
        left.take([change, *callers])
        own, others = (change.function,), tuple(each.function for each in callers)
        net = change.change + sum(each.change for each in callers)
        yield Move(own, others, net) if change.gone else Move(others, own, net)


def _is_in_caller(change: FunctionChange, other: FunctionChange, left: _Left) -> bool:
    """True if the code of a new or gone function is, or was, part of the other one."""
    if other.new or other.gone or abs(other.change) > _LARGEST * abs(change.change) + LEAST_OF_A_CALL:
        return False
    return left.code.is_inlined(change.function, other.function, sign="-" if change.gone else "+")


def order_by_net(changes: Iterable[FunctionChange], moves: Iterable[Move]) -> tuple[FunctionChange, ...]:
    """What costs most first: a function of a move counts with the move's net."""
    nets = {function: abs(move.change) for move in moves for function in move.functions}
    return tuple(
        sorted(
            changes,
            key=lambda each: (
                -nets.get(each.function, abs(each.change)),
                -abs(each.change),
                each.function.name,
            ),
        )
    )


def _is_anchor(change: FunctionChange) -> bool:
    if change.new or change.gone:
        return True
    before, after = change.base_calls, change.head_calls
    if not before or not after or (after - before) * change.change <= 0:
        return False
    return abs(after - before) > CALLS_SHARE * before


def _others(
    change: FunctionChange, opposite: Sequence[FunctionChange], *, sure: bool
) -> list[FunctionChange]:
    """The functions on the other side of a move, the largest first; empty if none changed enough.

    `sure`: its code is new or gone too.
    """
    whole = abs(change.change)
    chosen: list[FunctionChange] = []
    for each in opposite:
        if abs(each.change) > _LARGEST * whole + LEAST_OF_A_CALL:
            continue
        if chosen and (abs(each.change) < _PART * whole or _is_whole(change, chosen)):
            break
        chosen.append(each)
    if not sure and any(_moved_calls(change) < _CALLED * _calls(each) for each in chosen):
        return []
    least = _TAKEN if sure else _TAKEN_OF_CALLS
    return chosen if sum(abs(each.change) for each in chosen) >= least * whole else []


def _is_whole(change: FunctionChange, chosen: Sequence[FunctionChange]) -> bool:
    """True if the chosen functions had all instructions of the other side, or as callers made all calls."""
    if sum(abs(each.change) for each in chosen) >= _WHOLE * abs(change.change):
        return True
    if any(each.new or each.gone for each in chosen):
        return False
    calls = _moved_calls(change)
    of_chosen = [_calls(each) for each in chosen]
    return bool(calls) and all(of_chosen) and sum(of_chosen) >= (1 - CALLS_SHARE) * calls


def _moved_calls(change: FunctionChange) -> float:
    """Calls per operation that a move made or removed; 0 if unknown."""
    return abs((change.head_calls or 0.0) - (change.base_calls or 0.0))


def _calls(change: FunctionChange) -> float:
    return change.head_calls or change.base_calls or 0.0


def _between_executed(left: _Left) -> Iterator[Move]:
    """Code that went from one function to another one: one lost nearly what others gained."""
    if left.differing is None:
        return
    for change in sorted(left.changes, key=lambda each: -abs(each.change)):
        if change not in left.changes or change.function not in left.differing:
            continue
        others: list[FunctionChange] = []
        for each in left.opposite(change):
            if each.function in left.differing and abs(
                change.change + each.change + sum(other.change for other in others)
            ) < abs(change.change + sum(other.change for other in others)):
                others.append(each)
        net = change.change + sum(each.change for each in others)
        if others and abs(net) <= _NET * abs(change.change):
            yield left.take([change, *others])
