"""The functions behind rows, from the function counts among the raw outputs of boots.

Archives are somebody's upload: what cannot be read of them is as if it were not there.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from psycopg import Connection

from cliffwatch.comparing.attribution.changes import CaseFunctions, Functions, RowKey
from cliffwatch.comparing.attribution.operations import OperationCounts, operation_counts
from cliffwatch.comparing.attribution.per_call import differing_functions
from cliffwatch.comparing.attribution.row import row_functions
from cliffwatch.comparing.comparison import Comparison, ComparisonSet
from cliffwatch.formats.code.function_counts import CaseCounts, FunctionCountsRecord
from cliffwatch.formats.reading import Wrong, read_as
from cliffwatch.samples import Arm, CaseKey
from cliffwatch_service.ingest.kernel_code import image_of
from cliffwatch_service.ingest.raw_outputs.storing import Transaction, raw_file
from cliffwatch_service.refusal import Refusal
from cliffwatch_service.store import boots

FUNCTION_COUNTS = "functions.json"
_LARGEST_BYTES = 16 << 20
"""A boot of all suites has 6 MB."""
_MOST_BOOTS = 2
"""Of an arm: counts of equal kernels repeat to four digits."""

_MOST_ROWS = 100
"""Of a comparison, those with the largest changes."""

_MOST_OTHERS = 400
"""Of those that did not change, which are looked through for functions that did."""

_MOST_FUNCTIONS = 40
"""Of a row."""


@dataclass(frozen=True, slots=True)
class SideOfRun:
    """An arm as it was measured: its boots, its row's identity, and the name of its run."""

    arm: Arm
    arm_id: int
    run: str


@dataclass(frozen=True, slots=True)
class _Counts:
    """A boot's function counts: the document, its cases, and the values of rows in that boot."""

    record: FunctionCountsRecord
    cases: Mapping[CaseKey, CaseCounts]
    values: Mapping[RowKey, tuple[float, str]]


def functions_of_rows(
    connection: Connection[Any], compared: ComparisonSet, base: SideOfRun, head: SideOfRun
) -> Functions:
    """Of the rows that changed, and of others that hide a function which did, by the name of the head's arm,
    case and metric; empty where a side was not counted.
    """
    if compared.mode != "icount":
        return {}
    changed = sorted(compared.changed_rows(), key=lambda row: -abs(row.change or 0.0))
    differing = differing_functions(image_of(connection, base.arm_id, head.arm_id))
    if not changed and not differing:
        return {}
    counts = [list(_counts(connection, each)) for each in (base, head)]
    if not all(counts):
        return {}
    known = {id(row) for row in changed}
    others = [row for row in compared.primary_rows() if id(row) not in known] if differing else []
    found: dict[tuple[str, RowKey], CaseFunctions] = {}
    for row in (*changed[:_MOST_ROWS], *others[:_MOST_OTHERS]):
        ours, theirs = (list(_of_row(row, of_side)) for of_side in counts)
        functions = row_functions(row, ours, theirs, differing=differing)
        if functions is not None and (functions.hidden_in or id(row) in known):
            found[compared.head.name, (row.case, row.metric)] = functions.of_most(_MOST_FUNCTIONS)
    return found


def _counts(connection: Connection[Any], side: SideOfRun) -> Iterator[_Counts]:
    """Of the first boots of an arm that have counts which can be read."""
    numbers = boots_with_counts(connection, side.arm_id)
    values = {boot.index: boot.samples for boot in side.arm.boots}
    for number in [each for each in numbers if each in values][:_MOST_BOOTS]:
        record = counts_of_boot(lambda: nullcontext(connection), side.run, number)
        if record is not None:
            yield _Counts(
                record,
                {case.key: case for case in record.cases},
                {(sample.case, sample.metric): (sample.value, sample.unit) for sample in values[number]},
            )


def _of_row(row: Comparison, side: Sequence[_Counts]) -> Iterator[OperationCounts]:
    for boot in side:
        case, value = boot.cases.get(row.case.planned), boot.values.get((row.case, row.metric))
        each = None if case is None or value is None else operation_counts(boot.record, case, *value)
        if each is not None:
            yield each


def boots_with_counts(connection: Connection[Any], arm_id: int) -> list[int]:
    """The numbers of an arm's boots whose raw outputs have function counts."""
    return [
        row.number
        for row in boots.raw_files_of_arm(connection, arm_id)
        if any(file["name"] == FUNCTION_COUNTS for file in row.files)
    ]


def counts_of_boot(transaction: Transaction, run: str, number: int) -> FunctionCountsRecord | None:
    """The function counts of a boot; None where they are missing, too large or none."""
    try:
        file = raw_file(transaction, run, number, FUNCTION_COUNTS)
        content = b"".join(file.pieces) if file.size <= _LARGEST_BYTES else b""
    except Refusal:
        return None
    record = read_as(content, FunctionCountsRecord)
    return None if isinstance(record, Wrong) else record
