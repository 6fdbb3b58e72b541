"""The functions behind a change, as documents have them: instructions for an operation, base against head."""

from typing import Annotated

from msgspec import Meta

from cliffwatch.formats.code.function_counts import MOST_FUNCTIONS, CodeObject
from cliffwatch.formats.values import Name, Number, OfCase, Part
from cliffwatch.formats.verdicts import Verdict


class FunctionRecord(Part, frozen=True, kw_only=True):
    """A function's instructions for an operation, 0 where a side does not execute it, and how often an
    operation calls it; null where that is not known.
    """

    name: Name
    object: CodeObject
    base: Number
    head: Number
    base_calls: Number | None = None
    head_calls: Number | None = None


class MoveRecord(Part, frozen=True, kw_only=True):
    """Code that went from one function to another, out of line or inlined; `change` is of both together."""

    source: Name
    target: Name
    change: Number


class CaseFunctionsRecord(OfCase, frozen=True, kw_only=True):
    """Why a row changed. `base` and `head` are the instructions for an operation that the metric's values
    say, `summed` the change of all functions together, `band` what equal kernels may differ by.
    `explained`: the functions add up to the change within 2 % of it, or 0.05 % of `base`. `functions` are
    those that changed by more than `band`, the largest change first. Of a row that reports no change,
    whose verdict is `hidden_in`, they are functions whose code differs and whose instructions for a call
    do; null of one that changed. `by_call`: their `base` and `head` are instructions of a call, as the
    operations of the case are not known.
    """

    metric: Name
    arm: Name = "head"
    base: Number
    head: Number
    summed: Number
    band: Number
    explained: bool
    functions: Annotated[tuple[FunctionRecord, ...], Meta(max_length=MOST_FUNCTIONS)]
    moves: Annotated[tuple[MoveRecord, ...], Meta(max_length=MOST_FUNCTIONS)] = ()
    hidden_in: Verdict | None = None
    by_call: bool = False
