"""Instructions of a case's functions per operation.

bench runs for a fixed time of the guest's clock, so the totals of base and head are equal by construction.
What differs is the number of operations in that time. If the record lacks this number, the measured value
gives it.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from cliffwatch.formats.code.function_counts import (
    UNNAMED_LIBRARIES,
    UNNAMED_PROGRAMS,
    CaseCounts,
    CodeObject,
    FunctionCountsRecord,
)
from cliffwatch.parsers.per_operation import nanoseconds

_COMPILERS = re.compile(r"(?:\.(?:isra|part|constprop|cold|llvm)(?:\.\d+)*|@\d+)++")


class Function(NamedTuple):
    """A function, under the name it has in every kernel.

    Copies made by the compiler and parts cut off (`.isra.0`, `.part.0`, `.constprop.0`, `.cold`) count as the
    function itself, and so do several functions of one name.
    """

    object: CodeObject
    name: str


class OperationCounts(NamedTuple):
    """Counts of a case in a boot, per operation."""

    instructions: Mapping[Function, float]
    """Instructions of each function itself."""
    calls: Mapping[Function, float]
    """Calls of the functions whose calls are known."""
    whole: bool = False
    """True if the counts are of the whole case with its set-up."""
    operations: float = math.inf
    """Operations that were counted; 1 if they are unknown, and the counts of a whole case are for all."""


def operation_counts(
    counts: FunctionCountsRecord, case: CaseCounts, value: float, unit: str
) -> OperationCounts | None:
    """The counts of a boot that measured `value`. None if there are none or its unit has no operations."""
    if nanoseconds(value, unit) is None or not any(count for _, count in case.counts):
        return None
    share = _operations_share(case, value, unit)
    of_all = 1.0 if share is None else share
    return OperationCounts(
        _totals(counts, case.counts, of_all),
        _totals(counts, case.calls, of_all),
        whole=case.seconds is None,
        operations=1 / of_all,
    )


def _operations_share(case: CaseCounts, value: float, unit: str) -> float | None:
    """One over the number of operations in the window; None if unknown."""
    each = nanoseconds(value, unit)
    if case.operations:
        return 1 / case.operations
    return None if each is None or case.seconds is None else each / (case.seconds * 1e9)


def _totals(
    counts: FunctionCountsRecord, places: Iterable[tuple[int, int]], share: float
) -> dict[Function, float]:
    totals: dict[Function, float] = {}
    for place, count in places:
        if place < len(counts.functions):
            function = counts.functions[place]
            key = Function(function.object, plain_name(function.name))
            totals[key] = totals.get(key, 0.0) + count * share
    return totals


def plain_name(name: str) -> str:
    """A function's name without suffixes added by compilers or by Cliffwatch."""
    return _COMPILERS.sub(lambda found: "" if found.end() == len(name) else found[0], name) or name


def mean_of(boots: Sequence[OperationCounts]) -> OperationCounts:
    """The mean over boots. A function that a boot did not execute counts as zero there."""
    return OperationCounts(
        _mean(boot.instructions for boot in boots),
        _mean(boot.calls for boot in boots),
        whole=any(boot.whole for boot in boots),
    )


def _mean(boots: Iterable[Mapping[Function, float]]) -> dict[Function, float]:
    all_boots = list(boots)
    totals: dict[Function, float] = {}
    for boot in all_boots:
        for function, count in boot.items():
            totals[function] = totals.get(function, 0.0) + count / len(all_boots)
    return totals


def lacks_objects(boot: Mapping[Function, float], least: float) -> bool:
    """True if more than `least` of a boot's instructions are in unknown objects of user space."""
    return (
        sum(boot.get(Function("user", name), 0.0) for name in (UNNAMED_PROGRAMS, UNNAMED_LIBRARIES)) > least
    )


def user_space_as_one(boot: Mapping[Function, float]) -> Mapping[Function, float]:
    """The instructions with all of user space as one function."""
    user = sum(count for function, count in boot.items() if function.object == "user")
    others = {function: count for function, count in boot.items() if function.object != "user"}
    return {**others, Function("user", "user space"): user} if user else others
