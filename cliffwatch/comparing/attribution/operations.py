"""Instructions of a case's functions for each of its operations.

bench runs for a fixed time of the guest's clock, so that the totals of base and head are equal by
construction; what differs is how many operations they made of it. Where the record does not say how many,
the measured value does.
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
    """Where instructions were executed, as it is called in every kernel: copies that the compiler made of a
    function, or cut off from it (`.isra.0`, `.part.0`, `.constprop.0`, `.cold`), and functions of one name
    are one.
    """

    object: CodeObject
    name: str


class OperationCounts(NamedTuple):
    """What a boot counted of a case, for each of its operations: instructions of each function itself, and
    calls of those whose calls are known. `whole`: both are of the whole case, set-up included, since its
    operations are not known. `operations`: how many were counted, 1 of a whole case.
    """

    instructions: Mapping[Function, float]
    calls: Mapping[Function, float]
    whole: bool = False
    operations: float = math.inf


def operation_counts(
    counts: FunctionCountsRecord, case: CaseCounts, value: float, unit: str
) -> OperationCounts | None:
    """Of a boot that measured `value`; None where the unit says nothing of operations."""
    if nanoseconds(value, unit) is None:
        return None
    share = _operations_share(case, value, unit)
    of_all = 1.0 if share is None else share
    return OperationCounts(
        _totals(counts, case.counts, of_all), _totals(counts, case.calls, of_all), share is None, 1 / of_all
    )


def _operations_share(case: CaseCounts, value: float, unit: str) -> float | None:
    """One over the operations in the window."""
    each = nanoseconds(value, unit)
    if each is None or case.seconds is None:
        return None
    return 1 / case.operations if case.operations else each / (case.seconds * 1e9)


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
    """A function's name without what compilers and we add to it."""
    return _COMPILERS.sub(lambda found: "" if found.end() == len(name) else found[0], name) or name


def mean_of(boots: Sequence[OperationCounts]) -> OperationCounts:
    """The mean over boots; a function that a boot did not execute counts as zero there."""
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
    """Whether more than `least` of a boot's instructions lie in user space and nobody knows in
    which object.
    """
    return (
        sum(boot.get(Function("user", name), 0.0) for name in (UNNAMED_PROGRAMS, UNNAMED_LIBRARIES)) > least
    )


def user_space_as_one(boot: Mapping[Function, float]) -> Mapping[Function, float]:
    """The instructions with one row for all of user space."""
    user = sum(count for function, count in boot.items() if function.object == "user")
    others = {function: count for function, count in boot.items() if function.object != "user"}
    return {**others, Function("user", "user space"): user} if user else others
