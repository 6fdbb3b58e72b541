"""Cost that moved between functions: renamed, taken out of line, inlined, split or put into another one.

What moved is no cost of its own: only its net is. A function that is new, gone or called more or less often
took over from functions whose instructions changed the other way.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from cliffwatch.comparing.attribution.changes import FunctionChange, Move
from cliffwatch.comparing.attribution.operations import Function, plain_name
from cliffwatch.comparing.thresholds import CALLS_SHARE, LEAST_OF_A_CALL
from cliffwatch.formats.code.differences import CodeDifference, ProgramDifference

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
_MANY = 8
"""Changed functions up to which sizes that fit are taken for a move. Between releases dozens change, and some
always fit.
"""
_ALIKE = 0.9
"""Share of equal instructions from which a function is the same under another name."""
_SHARED = 0.5
"""Share of equal instructions from which code went from one function to the other."""
_EQUAL = 0.005
"""Difference in instructions of functions whose code is unknown, up to which they are the same."""

Difference = CodeDifference | ProgramDifference
Differing = Mapping[Function, Difference]
"""The functions that execute other instructions in head, and how they differ."""


def find_moves(changes: Iterable[FunctionChange], differing: Differing | None = None) -> tuple[Move, ...]:
    """Moves among the changes of a case; each function is in one at most.

    `differing` None: code unknown. Then cost moves only to or from functions that one side does not have.
    Where code is known, and always among many changes, it shows a move: by the call that came or went, or by
    equal instructions.
    """
    left = _Left(list(changes), differing)
    left.many = len(left.changes) > _MANY
    return (*_renames(left), *_anchored(left), *(() if left.many else _between_executed(left)))


@dataclass
class _Left:
    """Changes that no move explains yet."""

    changes: list[FunctionChange]
    differing: Differing | None
    many: bool = False
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
        differing = self.differing or {}
        known = [differing.get(each.function) for each in (change, other)]
        if any(each is not None and each.lines and not each.more for each in known):
            return _calls_otherwise(change, other, differing) or _shares_code(*known)
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
            if _is_same(gone, each, left.differing or {}, by_code=left.many)
        ]
        if new:
            closest = min(new, key=lambda each: abs(each.head - gone.base))
            # The old name stands first, also where both execute the same.
            named = left.take([gone, closest], renamed=True)
            yield Move((gone.function,), (closest.function,), named.change, renamed=True)


def _is_same(gone: FunctionChange, new: FunctionChange, differing: Differing, *, by_code: bool) -> bool:
    """True if an operation calls both as often, and their code is alike, or without code their cost.

    `by_code`: cost alone says nothing.
    """
    calls = gone.base_calls, new.head_calls
    if calls[0] is not None and calls[1] is not None and abs(calls[0] - calls[1]) > CALLS_SHARE * calls[0]:
        return False
    old, code = _code(gone.function, differing, "-"), _code(new.function, differing, "+")
    if old and code:
        return SequenceMatcher(None, old, code, autojunk=False).ratio() >= _ALIKE
    return not by_code and abs(new.head - gone.base) <= max(LEAST_OF_A_CALL, _EQUAL * gone.base)


_WORD = re.compile(r"[.\w]++")
_PLACE = re.compile(r"0x[0-9a-f]{4,}|\{[0-9a-f]+\}")
"""Matches addresses only.

Per-CPU variables are offsets of five digits. Equal names carry a digest of their location.
"""


def instructions(lines: Iterable[str], sign: str) -> list[str]:
    """The instructions that only one side has, in order, without addresses."""
    return [_PLACE.sub("", line[1:]) for line in lines if line.startswith(sign)]


def _code(function: Function, differing: Differing, sign: str) -> list[str]:
    """The same of a function that one side alone has, without its own name; empty if unknown."""
    known = differing.get(function)
    if known is None or isinstance(known, ProgramDifference):
        return []
    own = plain_name(known.name)

    def without_own_name(word: re.Match[str]) -> str:
        return "<self>" if word[0] == own or word[0].startswith(f"{own}.") else word[0]

    return [_WORD.sub(without_own_name, line) for line in instructions(known.lines, sign)]


def _anchored(left: _Left) -> Iterator[Move]:
    """Moves to or from a function that is new, gone, or called more or less often."""
    for change in sorted(left.changes, key=lambda each: (not (each.new or each.gone), -abs(each.change))):
        if change not in left.changes or not _is_anchor(change):
            continue
        sure = (change.new or change.gone) and (left.differing is None or change.function in left.differing)
        others = _others(change, left.opposite(change), sure=sure)
        if others:
            yield left.take([change, *others])


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


def _calls_otherwise(each: FunctionChange, other: FunctionChange, differing: Differing) -> bool:
    """True if one of the two got or lost a call of the other."""
    return _names(each.function, other.function, differing) or _names(
        other.function, each.function, differing
    )


def _shares_code(one: Difference | None, other: Difference | None) -> bool:
    """True if half of the instructions that one lost are what the other got."""
    lines = [() if each is None else each.lines for each in (one, other)]
    for lost, got in (lines, reversed(lines)):
        less, more = Counter(instructions(lost, "-")), Counter(instructions(got, "+"))
        if less and more and (less & more).total() >= _SHARED * min(less.total(), more.total()):
            return True
    return False


def _names(function: Function, called: Function, differing: Differing) -> bool:
    known = differing.get(function)
    lines = () if known is None else known.lines
    return any(called.name in _WORD.findall(line) for line in lines)


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
