"""The functions behind one row: from the counts of its boots to the function changes of a report."""

from collections.abc import Sequence
from dataclasses import replace

from cliffwatch.comparing.attribution.changes import (
    SHARE_OF_CASE,
    CaseFunctions,
    FunctionChange,
    case_functions,
    functions_by_call,
)
from cliffwatch.comparing.attribution.moved_code import Differing
from cliffwatch.comparing.attribution.moves import find_moves, order_by_net
from cliffwatch.comparing.attribution.operations import (
    OperationCounts,
    lacks_objects,
    mean_of,
    user_space_as_one,
)
from cliffwatch.comparing.attribution.per_call import changed_calls, changed_in_loads, hidden_changes
from cliffwatch.comparing.comparison import CHANGES
from cliffwatch.formats.comparison import ComparisonRow
from cliffwatch.parsers.per_operation import LOAD_UNIT, nanoseconds

Boots = Sequence[OperationCounts]
"""Boot by boot."""


def row_functions(
    row: ComparisonRow, base: Boots, head: Boots, *, differing: Differing | None = None
) -> CaseFunctions | None:
    """Compares the functions of a row. None if a side was not counted, or if the unit has no operations.

    `differing` are the functions whose code differs; None if unknown. If the row reports no change but such
    functions changed, only those are returned. If the operations of a case are unknown, only their
    instructions per call can be compared.
    """
    if row.base is None or row.head is None or not base or not head:
        return None
    measured = nanoseconds(row.base, row.unit), nanoseconds(row.head, row.unit)
    if measured[0] is None or measured[1] is None:
        return None
    hidden_in = None if row.verdict in CHANGES else row.verdict
    low, high = row.ci_low or 0.0, row.ci_high or 0.0
    band = max(SHARE_OF_CASE, (high - low) / 2) * measured[0]
    if any(boot.whole for boot in (*base, *head)):
        calls = _by_call(row, base, head, differing or {})
        both = measured[0], measured[1]
        return functions_by_call(calls, measured=both, hidden_in=hidden_in) if calls else None
    base, head = with_same_objects(base, head, least=SHARE_OF_CASE * measured[0])
    found = case_functions(mean_of(base), mean_of(head), measured=(measured[0], measured[1]), band=band)
    if hidden_in is not None:
        changes, moves = hidden_changes(base, head, differing or {}, apart=(high - low) / 2)
        if changes:
            return replace(found, changes=changes, moves=moves, hidden_in=hidden_in)
    moves = find_moves(found.changes, differing)
    return replace(found, moves=moves, changes=order_by_net(found.changes, moves))


def _by_call(
    row: ComparisonRow, base: Boots, head: Boots, differing: Differing
) -> tuple[FunctionChange, ...]:
    if row.unit == LOAD_UNIT and row.base and row.head:
        return changed_in_loads(base, head, differing, load=max(row.base, row.head))
    return changed_calls(base, head, differing)


def with_same_objects(base: Boots, head: Boots, *, least: float) -> tuple[Boots, Boots]:
    """Merges user space into one function unless its objects are known in all boots or in none.

    Otherwise a program known in one boot only would look like a change.
    """
    lacking = {lacks_objects(boot.instructions, least) for boot in (*base, *head)}
    if len(lacking) == 1:
        return base, head
    as_one = [
        [boot._replace(instructions=user_space_as_one(boot.instructions)) for boot in boots]
        for boots in (base, head)
    ]
    return as_one[0], as_one[1]
