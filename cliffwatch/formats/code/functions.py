"""The functions behind a change, as documents store them: instructions per operation, base against head."""

from typing import Annotated, Literal

from msgspec import Meta

from cliffwatch.formats.code.function_counts import MOST_FUNCTIONS, CodeObject
from cliffwatch.formats.values import Name, Number, OfCase, Part
from cliffwatch.formats.verdicts import Verdict

FunctionVerdict = Literal["slower", "faster", "moved", "renamed"]


class FunctionRecord(Part, frozen=True, kw_only=True):
    """A function's instructions per operation; 0 on a side that does not execute it.

    `base_calls` and `head_calls` are calls per operation; null if unknown. `verdict` is what the
    function did: `moved` and `renamed` if a move has it. `of_case` is the change of all its calls, as a
    fraction of the instructions of base's whole case; null unless the counts are per call.
    """

    name: Name
    object: CodeObject
    base: Number
    head: Number
    base_calls: Number | None = None
    head_calls: Number | None = None
    of_case: Number | None = None
    verdict: FunctionVerdict


class MoveRecord(Part, frozen=True, kw_only=True):
    """Code that moved between functions, out of line, inlined or to another name.

    `sources` execute less and `targets` more. `change` is that of all together: the net. `renamed` is true if
    the target is the source under another name.
    """

    sources: Annotated[tuple[Name, ...], Meta(max_length=MOST_FUNCTIONS)]
    targets: Annotated[tuple[Name, ...], Meta(max_length=MOST_FUNCTIONS)]
    change: Number
    renamed: bool = False


class CaseFunctionsRecord(OfCase, frozen=True, kw_only=True):
    """Why a row changed.

    `base` and `head` are instructions per operation, from the metric's values. `summed` is the change of
    all functions together. `band` is the difference that equal kernels may have. `explained` is true if
    the functions add up to the change, within 2 % of it or 0.05 % of `base`. `functions` are the
    functions that changed by more than `band`, the costliest first: a move counts with its net.
    `hidden_in` is the verdict of a row that reports no change; null if the row changed. For a row that
    reports no change, `functions` are those whose code differs and whose instructions per call differ.
    The other two are of cases that were counted with their set-up, whose functions do not add up. `averaged`
    is true if the `base` and `head` of functions are per operation, averaged over all rows of the case.
    `by_call` is true if they are per call, because its operations are unknown.
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
    averaged: bool = False
    by_call: bool = False
