"""The functions that explain a change, and how much of it they explain."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from cliffwatch.comparing.attribution.operations import Function, OperationCounts
from cliffwatch.formats.code.functions import FunctionVerdict
from cliffwatch.formats.verdicts import Verdict
from cliffwatch.samples import CaseKey

_SHARE_OF_CHANGE = 0.02
SHARE_OF_CASE = 0.0005
"""Share of a case's instructions below which changes are ignored.

Ticks and page faults differ from boot to boot. The functions explain a change if their sum is within this
share of the case or within `_SHARE_OF_CHANGE` of the change, whichever is larger. Functions with smaller
changes are not shown either.
"""


@dataclass(frozen=True, slots=True)
class FunctionChange:
    """Instructions of a function per operation."""

    function: Function
    base: float
    head: float
    base_calls: float | None = None
    """Calls per operation in base; None if unknown."""
    head_calls: float | None = None
    """Calls per operation in head; None if unknown."""
    of_case: float | None = None
    """Change of all its calls, a fraction of base's whole case; None where operations are known."""

    @property
    def change(self) -> float:
        return self.head - self.base

    @property
    def per_call(self) -> tuple[float, float] | None:
        """Instructions per call in base and head. None if unknown or if a side does not call the function."""
        if not self.base_calls or not self.head_calls:
            return None
        return self.base / self.base_calls, self.head / self.head_calls

    @property
    def new(self) -> bool:
        return self.base == 0

    @property
    def gone(self) -> bool:
        return self.head == 0


def _is_more(change: FunctionChange) -> bool:
    return (change.change if change.of_case is None else change.of_case) > 0


@dataclass(frozen=True, slots=True)
class Move:
    """Code that moved between functions, or a function under another name."""

    sources: tuple[Function, ...]
    """Those that execute less."""
    targets: tuple[Function, ...]
    """Those that execute more."""
    change: float
    """Of all functions together."""
    renamed: bool = False
    """True if the source is the target under its former name."""

    @property
    def functions(self) -> tuple[Function, ...]:
        return self.sources + self.targets


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseFunctions:
    """Why a case changed, in instructions per operation."""

    base: float
    head: float
    summed: float
    """Change of all functions together."""
    band: float
    """Largest difference between equal kernels."""
    changes: tuple[FunctionChange, ...]
    """Functions that change by more than `band`, the costliest first; a move counts with its net.

    For a row that reports no change: functions whose code and instructions differ
    (`cliffwatch.comparing.attribution.per_call`).
    """
    moves: tuple[Move, ...]
    hidden_in: Verdict | None = None
    """Verdict of a row that reports no change although `changes` exist; None for a row that changed."""
    averaged: bool = False
    """True if `changes` are averages over all rows of a case, such as programs of an object."""
    by_call: bool = False
    """True if `changes` are in instructions per call, because the case's operations are unknown."""

    def verdict_of(self, change: FunctionChange) -> FunctionVerdict:
        """What one function did."""
        for move in self.moves:
            if change.function in move.functions:
                return "renamed" if move.renamed else "moved"
        return "slower" if change.change > 0 else "faster"

    @property
    def own_changes(self) -> tuple[FunctionChange, ...]:
        """The changes that no move explains."""
        moved = {function for move in self.moves for function in move.functions}
        return tuple(each for each in self.changes if each.function not in moved)

    @property
    def in_direction(self) -> tuple[FunctionChange, ...]:
        """The changes in the row's direction where functions do not add up to its change; elsewhere all."""
        if self.hidden_in is not None or not (self.by_call or self.averaged):
            return self.own_changes
        upward = self.measured > 0
        return tuple(each for each in self.own_changes if _is_more(each) == upward)

    @property
    def measured(self) -> float:
        """Change of the measured value."""
        return self.head - self.base

    @property
    def explained(self) -> bool:
        """True if the functions add up to the measured change."""
        room = max(_SHARE_OF_CHANGE * abs(self.measured), SHARE_OF_CASE * self.base)
        return abs(self.summed - self.measured) <= room

    def of_most(self, count: int) -> "CaseFunctions":
        """The same with only the `count` functions that changed most."""
        kept = self.changes[:count]
        known = {each.function for each in kept}
        moves = tuple(each for each in self.moves if known.issuperset(each.functions))
        return replace(self, changes=kept, moves=moves)


RowKey = tuple[CaseKey, str]
"""A case and the name of a metric."""

Functions = Mapping[tuple[str, RowKey], CaseFunctions]
"""Function changes of rows, by the name of the head's arm and the row."""


def function_changes(base: OperationCounts, head: OperationCounts) -> list[FunctionChange]:
    """Every function that either side executes."""
    return [
        FunctionChange(
            each,
            base.instructions.get(each, 0.0),
            head.instructions.get(each, 0.0),
            base.calls.get(each),
            head.calls.get(each),
        )
        for each in base.instructions.keys() | head.instructions.keys()
    ]


def case_functions(
    base: OperationCounts, head: OperationCounts, *, measured: tuple[float, float], band: float
) -> CaseFunctions:
    """Compares the functions of a case, without moves.

    `measured` are the nanoseconds per operation of base and head; under icount these are instructions. `band`
    is the largest difference between equal kernels.
    """
    rows = function_changes(base, head)
    beyond = sorted(
        (row for row in rows if abs(row.change) > band), key=lambda row: (-abs(row.change), row.function.name)
    )
    return CaseFunctions(
        base=measured[0],
        head=measured[1],
        summed=sum(head.instructions.values()) - sum(base.instructions.values()),
        band=band,
        changes=tuple(beyond),
        moves=(),
    )


def functions_of_whole(
    changes: tuple[FunctionChange, ...],
    *,
    measured: tuple[float, float],
    hidden_in: Verdict | None,
    averaged: bool,
) -> CaseFunctions:
    """The functions of a case that was counted with its set-up: averages of an operation, or of a call.

    Neither adds up to the measured change.
    """
    base, head = measured
    return CaseFunctions(
        base=base,
        head=head,
        summed=0.0,
        band=0.0,
        changes=changes,
        moves=(),
        hidden_in=hidden_in,
        averaged=averaged,
        by_call=not averaged,
    )
