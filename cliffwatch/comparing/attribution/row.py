"""The functions behind one row: from the counts of its boots to the function changes of a report."""

from collections.abc import Sequence
from dataclasses import replace

from cliffwatch.comparing.attribution.changes import (
    SHARE_OF_CASE,
    CaseFunctions,
    case_functions,
    functions_of_whole,
)
from cliffwatch.comparing.attribution.moved_code import Differing
from cliffwatch.comparing.attribution.moves import find_moves, order_by_net
from cliffwatch.comparing.attribution.operations import (
    OperationCounts,
    lacks_objects,
    mean_of,
    user_space_as_one,
)
from cliffwatch.comparing.attribution.per_call import changed_calls, changed_in_operations, hidden_changes
from cliffwatch.comparing.comparison import CHANGES, TROUBLED
from cliffwatch.formats.comparison import ComparisonRow
from cliffwatch.formats.verdicts import Verdict
from cliffwatch.parsers.per_operation import nanoseconds

Boots = Sequence[OperationCounts]
"""Boot by boot."""


def row_functions(
    row: ComparisonRow, base: Boots, head: Boots, *, differing: Differing | None = None
) -> CaseFunctions | None:
    """Compares the functions of a row. None if it was not judged or counted, or its unit has no operations.

    `differing` are the functions whose code differs; None if unknown. If the row reports no change but such
    functions changed, only those are returned. Of a case that was counted with its set-up, functions are
    compared by the operations that its suite names, else by their calls.
    """
    if row.verdict in TROUBLED or row.base is None or row.head is None or not base or not head:
        return None
    measured = nanoseconds(row.base, row.unit), nanoseconds(row.head, row.unit)
    if measured[0] is None or measured[1] is None:
        return None
    hidden_in = None if row.verdict in CHANGES else row.verdict
    low, high = row.ci_low or 0.0, row.ci_high or 0.0
    band = max(SHARE_OF_CASE, (high - low) / 2) * measured[0]
    if any(boot.whole for boot in (*base, *head)):
        return _of_whole_case((measured[0], measured[1]), base, head, differing or {}, hidden_in)
    base, head = with_same_objects(base, head, least=SHARE_OF_CASE * measured[0])
    found = case_functions(mean_of(base), mean_of(head), measured=(measured[0], measured[1]), band=band)
    if hidden_in is not None:
        changes, moves = hidden_changes(base, head, differing or {}, apart=(high - low) / 2)
        if changes:
            return replace(found, changes=changes, moves=moves, hidden_in=hidden_in)
    moves = find_moves(found.changes, differing)
    return replace(found, moves=moves, changes=order_by_net(found.changes, moves))


def _of_whole_case(
    measured: tuple[float, float],
    base: Boots,
    head: Boots,
    differing: Differing,
    hidden_in: Verdict | None,
) -> CaseFunctions | None:
    """Functions of a case with its set-up: of an average operation if these were counted, else of a call."""
    averaged = all(boot.operations > 1 for boot in (*base, *head))
    if averaged:
        changes = changed_in_operations(base, head, differing, measured=measured, changed=hidden_in is None)
    else:
        changes = changed_calls(base, head, differing)
    if not changes:
        return None
    return functions_of_whole(changes, measured=measured, hidden_in=hidden_in, averaged=averaged)


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
