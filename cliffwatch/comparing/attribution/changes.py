"""The functions that explain a change, and how much of it they do."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from cliffwatch.comparing.attribution.operations import Function, OperationCounts
from cliffwatch.formats.verdicts import Verdict
from cliffwatch.samples import CaseKey

_SHARE_OF_CHANGE = 0.02
SHARE_OF_CASE = 0.0005
"""The functions explain a change where their sum is within the larger of both: of the change, and of the
case's instructions. Smaller changes of a function are not shown either: ticks and page faults fall
elsewhere in each boot.
"""

_TAKEN = 0.1
"""Of the instructions of a function that is new, what another one must have lost for them to belong together.
"""


@dataclass(frozen=True, slots=True)
class FunctionChange:
    """Instructions of a function for an operation, in base and in head, and how often an operation calls it;
    None where that is not known.
    """

    function: Function
    base: float
    head: float
    base_calls: float | None = None
    head_calls: float | None = None

    @property
    def change(self) -> float:
        return self.head - self.base

    @property
    def per_call(self) -> tuple[float, float] | None:
        """Instructions of a call; None where a side does not call it, or it is not known."""
        if not self.base_calls or not self.head_calls:
            return None
        return self.base / self.base_calls, self.head / self.head_calls

    @property
    def new(self) -> bool:
        return self.base == 0

    @property
    def gone(self) -> bool:
        return self.head == 0


@dataclass(frozen=True, slots=True)
class Move:
    """Code that went from one function to another: out of line into one that is new, or inlined from one that
    is gone. `change` is of both together.
    """

    source: Function
    target: Function
    change: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseFunctions:
    """Why a case changed, in instructions per operation."""

    base: float
    head: float
    summed: float
    """Change of all functions together."""
    band: float
    """Difference that equal kernels may have."""
    changes: tuple[FunctionChange, ...]
    """Functions that changed by more than `band`, the largest first."""
    moves: tuple[Move, ...]
    hidden_in: Verdict | None = None
    """Verdict of a row that reports no change: `changes` are then functions whose code and instructions
    differ.
    """
    by_call: bool = False
    """Numbers are per call, because the case's operations are not known."""

    @property
    def measured(self) -> float:
        return self.head - self.base

    @property
    def explained(self) -> bool:
        """Whether the functions add up to what was measured."""
        room = max(_SHARE_OF_CHANGE * abs(self.measured), SHARE_OF_CASE * self.base)
        return abs(self.summed - self.measured) <= room

    def of_most(self, count: int) -> "CaseFunctions":
        """With so many of its functions, those that changed most."""
        kept = self.changes[:count]
        known = {each.function for each in kept}
        moves = tuple(each for each in self.moves if each.source in known and each.target in known)
        return replace(self, changes=kept, moves=moves)


RowKey = tuple[CaseKey, str]
"""A case and the name of a metric."""

Functions = Mapping[tuple[str, RowKey], CaseFunctions]
"""What explains rows, by the name of the head's arm and the row."""


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
    """Base against head; `measured` are the nanoseconds of an operation, which under icount are its
    instructions, and `band` what of them may differ between equal kernels.
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
        moves=_moves(beyond),
    )


def functions_by_call(
    changes: tuple[FunctionChange, ...], *, measured: tuple[float, float], hidden_in: Verdict | None
) -> CaseFunctions:
    """Of a case whose operations are not known: instructions of a call, which do not add up to what was
    measured.
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
        by_call=True,
    )


def _moves(changes: list[FunctionChange]) -> tuple[Move, ...]:
    """Each function that is new or gone, with the one that lost or gained most, where that is a
    part of it.
    """
    moves: list[Move] = []
    for row in changes:
        if not (row.new or row.gone):
            continue
        others = [
            other
            for other in changes
            if other.change * row.change < 0 and other.function.object == row.function.object
        ]
        other = max(others, key=lambda each: abs(each.change), default=None)
        if other is None or abs(other.change) < _TAKEN * abs(row.change) or (row.gone and other.new):
            continue
        source, target = (other, row) if row.new else (row, other)
        moves.append(Move(source.function, target.function, source.change + target.change))
    return tuple(moves)
