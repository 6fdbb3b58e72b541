"""The functions behind one row: from the counts of its boots to what a report shows."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from cliffwatch.comparing.attribution.changes import SHARE_OF_CASE, CaseFunctions, case_functions
from cliffwatch.comparing.attribution.operations import (
    Function,
    lacks_objects,
    mean_of,
    part_of,
    user_space_as_one,
)
from cliffwatch.formats.code.function_counts import CodeObject
from cliffwatch.per_operation import BPF, KERNEL, USER, nanoseconds


class MeasuredRow(Protocol):
    """What a row of a comparison says of its sides, in `unit`, and of its change, in fractions of base."""

    @property
    def metric(self) -> str: ...
    @property
    def unit(self) -> str: ...
    @property
    def base(self) -> float | None: ...
    @property
    def head(self) -> float | None: ...
    @property
    def ci_low(self) -> float | None: ...
    @property
    def ci_high(self) -> float | None: ...


_OBJECTS: Mapping[str, CodeObject] = {KERNEL: "kernel", BPF: "bpf", USER: "user"}
"""Of the metrics that are of a part of the code alone."""

Boots = Sequence[Mapping[Function, float]]
"""Instructions of each function for an operation, boot by boot."""


def row_functions(row: MeasuredRow, base: Boots, head: Boots) -> CaseFunctions | None:
    """Base against head; None where a side was not counted, or where the unit says nothing of operations."""
    if row.base is None or row.head is None or not base or not head:
        return None
    measured = nanoseconds(row.base, row.unit), nanoseconds(row.head, row.unit)
    if measured[0] is None or measured[1] is None:
        return None
    low, high = row.ci_low or 0.0, row.ci_high or 0.0
    band = max(SHARE_OF_CASE, (high - low) / 2) * measured[0]
    base, head = _of_metric(row.metric, base), _of_metric(row.metric, head)
    base, head = _alike(base, head, least=SHARE_OF_CASE * measured[0])
    return case_functions(mean_of(base), mean_of(head), measured=(measured[0], measured[1]), band=band)


def _of_metric(metric: str, boots: Boots) -> Boots:
    """The functions of the code that a metric is of."""
    only = _OBJECTS.get(metric)
    if only is None:
        return boots
    return [{function: count for function, count in boot.items() if part_of(function) == only} for boot in boots]


def _alike(base: Boots, head: Boots, *, least: float) -> tuple[Boots, Boots]:
    """User space by object only where all boots know its objects, or none does: else what one boot calls bench and another a program would be a change."""
    lacking = {lacks_objects(boot, least) for boot in (*base, *head)}
    if len(lacking) == 1:
        return base, head
    return [user_space_as_one(boot) for boot in base], [user_space_as_one(boot) for boot in head]
