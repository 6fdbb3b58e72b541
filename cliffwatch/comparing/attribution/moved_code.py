"""What the code of functions says of a move: calls that came or went, and equal instructions.

The code is foreign text. A function is read once, and the comparisons of a case are bounded: beyond them
nothing counts as moved.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from difflib import SequenceMatcher

from cliffwatch.comparing.attribution.operations import Function, plain_name
from cliffwatch.formats.code.differences import CodeDifference, ProgramDifference

_ALIKE = 0.9
"""Share of equal instructions from which a function is the same under another name."""
_SHARED = 0.5
"""Share of equal instructions from which code went from one function to the other."""
_MOST_BODIES = 50
"""Bodies of functions compared instruction by instruction, in one case."""
_MOST_SHARES = 10_000
"""Pairs of functions whose instructions are counted against each other, in one case."""

_WORD = re.compile(r"[.\w]++")
_PLACE = re.compile(r"0x[0-9a-f]{4,}|\{[0-9a-f]+\}")
"""Matches addresses only.

Per-CPU variables are offsets of five digits. Equal names carry a digest of their location.
"""

Differing = Mapping[Function, CodeDifference | ProgramDifference]
"""The functions that execute other instructions in head, and how they differ."""


def instructions(lines: Iterable[str], sign: str) -> list[str]:
    """The instructions that only one side has, in order, without addresses."""
    return [_PLACE.sub("", line[1:]) for line in lines if line.startswith(sign)]


class MovedCode:
    """The code of the functions that differ in one case."""

    def __init__(self, differing: Differing) -> None:
        self._differing = differing
        self._words: dict[Function, frozenset[str]] = {}
        self._counts: dict[tuple[Function, str], Counter[str]] = {}
        self._named: dict[tuple[Function, str], Counter[str]] = {}
        self._bodies: dict[tuple[Function, str], tuple[list[str], Counter[str]]] = {}
        self._compared = self._counted = 0

    def is_known(self, function: Function) -> bool:
        """True if every instruction that differs is known."""
        known = self._differing.get(function)
        return known is not None and bool(known.lines) and not known.more

    def shows_move(self, one: Function, other: Function) -> bool:
        """True if one of the two got or lost a call of the other, or got instructions that the other lost."""
        called = other.name in self._words_of(one) or one.name in self._words_of(other)
        return called or self._shares(one, other)

    def is_inlined(self, function: Function, caller: Function, *, sign: str = "-") -> bool:
        """True if the caller lost a call of the function and grew by its code. With sign `+` the reverse:
        it got a call and shrank.

        The compiler rearranges inlined code, so the sizes count and not equal instructions.
        """
        known, calling = self._differing.get(function), self._differing.get(caller)
        if not isinstance(known, CodeDifference) or not isinstance(calling, CodeDifference):
            return False
        size, grown = known.base if sign == "-" else known.head, (calling.head or 0) - (calling.base or 0)
        if not size or (grown if sign == "-" else -grown) < _SHARED * size:
            return False
        other = "+" if sign == "-" else "-"
        return self._names(caller, sign)[function.name] > self._names(caller, other)[function.name]

    def is_same(self, gone: Function, new: Function) -> bool | None:
        """True if their bodies are alike, but for their own names; None if one is unknown."""
        (old, old_counts), (code, counts) = self._body(gone, "-"), self._body(new, "+")
        if not old or not code:
            return None
        self._counted += 1
        # The share of equal instructions in any order is an upper bound.
        if self._counted > _MOST_SHARES or 2 * (old_counts & counts).total() < _ALIKE * (
            len(old) + len(code)
        ):
            return False
        self._compared += 1
        if self._compared > _MOST_BODIES:
            return False
        return SequenceMatcher(None, old, code, autojunk=False).ratio() >= _ALIKE

    def _shares(self, one: Function, other: Function) -> bool:
        self._counted += 1
        if self._counted > _MOST_SHARES:
            return False
        for lost, got in ((one, other), (other, one)):
            less, more = self._count(lost, "-"), self._count(got, "+")
            if less and more and (less & more).total() >= _SHARED * min(less.total(), more.total()):
                return True
        return False

    def _words_of(self, function: Function) -> frozenset[str]:
        if function not in self._words:
            known = self._differing.get(function)
            lines = () if known is None else known.lines
            self._words[function] = frozenset(word for line in lines for word in _WORD.findall(line))
        return self._words[function]

    def _count(self, function: Function, sign: str) -> Counter[str]:
        key = (function, sign)
        if key not in self._counts:
            known = self._differing.get(function)
            self._counts[key] = Counter(instructions(() if known is None else known.lines, sign))
        return self._counts[key]

    def _names(self, function: Function, sign: str) -> Counter[str]:
        """How often the instructions of one side alone name something."""
        key = (function, sign)
        if key not in self._named:
            lines = self._count(function, sign).elements()
            self._named[key] = Counter(plain_name(word) for line in lines for word in _WORD.findall(line))
        return self._named[key]

    def _body(self, function: Function, sign: str) -> tuple[list[str], Counter[str]]:
        """The instructions of a function that one side alone has, without its own name; empty if unknown."""
        key = (function, sign)
        if key not in self._bodies:
            known = self._differing.get(function)
            body = _without_own_name(known, sign) if isinstance(known, CodeDifference) else []
            self._bodies[key] = body, Counter(body)
        return self._bodies[key]


def _without_own_name(known: CodeDifference, sign: str) -> list[str]:
    own = plain_name(known.name)

    def other_word(word: re.Match[str]) -> str:
        return "<self>" if word[0] == own or word[0].startswith(f"{own}.") else word[0]

    return [_WORD.sub(other_word, line) for line in instructions(known.lines, sign)]
