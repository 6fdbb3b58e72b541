"""Attributes rows to functions, from the function counts in the raw outputs of boots.

Archives are uploads, so they are untrusted: unreadable counts are treated as missing.
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
from cliffwatch.comparing.comparison import ComparisonSet
from cliffwatch.formats.code.function_counts import CaseCounts, FunctionCountsRecord
from cliffwatch.formats.comparison import ComparisonRow
from cliffwatch.formats.reading import read_as
from cliffwatch.parsers.readings import Problem
from cliffwatch.samples import Arm, CaseKey
from cliffwatch_service.ingest.kernel_code import image_of
from cliffwatch_service.ingest.raw_outputs.storing import Transaction, raw_file
from cliffwatch_service.refusal import Refusal
from cliffwatch_service.store import boots

FUNCTION_COUNTS = "functions.json"
_LARGEST_BYTES = 16 << 20
"""Limit of `functions.json`. A boot of all suites has 6 MB."""
MOST_COUNTED_BOOTS = 2
"""Boots per arm that are read. Few suffice: counts of equal kernels agree to four digits."""

_MOST_ROWS = 100
"""Changed rows per comparison, those with the largest changes."""

_MOST_OTHERS = 400
"""Rows per comparison without a change that are searched for functions that did change."""

_MOST_FUNCTIONS = 40
"""Functions per row."""


@dataclass(frozen=True, slots=True)
class SideOfRun:
    """One side of a comparison: an arm with its boots."""

    arm: Arm
    arm_id: int
    run: str
    """Digest of the run."""


@dataclass(frozen=True, slots=True)
class _Counts:
    """Function counts of a boot."""

    record: FunctionCountsRecord
    cases: Mapping[CaseKey, CaseCounts]
    values: Mapping[RowKey, tuple[float, str]]
    """Value and unit of each sample of the boot, by case and metric."""


def functions_of_rows(
    connection: Connection[Any], compared: ComparisonSet, base: SideOfRun, head: SideOfRun
) -> Functions:
    """Returns the functions behind rows, by head's arm name, case and metric.

    Covers the changed rows, and rows without a change that hide a changed function. Empty if a side has no
    function counts.
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
    """Yields the counts of the first boots of an arm whose counts are readable."""
    numbers = boots_with_counts(connection, side.arm_id)
    values = {boot.index: boot.samples for boot in side.arm.boots}
    for number in [each for each in numbers if each in values][:MOST_COUNTED_BOOTS]:
        record = counts_of_boot(lambda: nullcontext(connection), side.run, number)
        if record is not None:
            yield _Counts(
                record,
                {case.case: case for case in record.cases},
                {(sample.case, sample.metric): (sample.value, sample.unit) for sample in values[number]},
            )


def _of_row(row: ComparisonRow, side: Sequence[_Counts]) -> Iterator[OperationCounts]:
    for boot in side:
        case, value = boot.cases.get(row.case.planned), boot.values.get((row.case, row.metric))
        each = None if case is None or value is None else operation_counts(boot.record, case, *value)
        if each is not None:
            yield each


def boots_with_counts(connection: Connection[Any], arm_id: int) -> list[int]:
    """Returns the numbers of an arm's boots whose raw outputs include function counts."""
    return [
        row.number
        for row in boots.raw_files_of_arm(connection, arm_id)
        if any(file["name"] == FUNCTION_COUNTS for file in row.files)
    ]


def counts_of_boot(transaction: Transaction, run: str, number: int) -> FunctionCountsRecord | None:
    """Returns the function counts of a boot; None if they are missing, too large or invalid."""
    try:
        file = raw_file(transaction, run, number, FUNCTION_COUNTS)
        content = b"".join(file.pieces) if file.size <= _LARGEST_BYTES else b""
    except Refusal:
        return None
    record = read_as(content, FunctionCountsRecord)
    return None if isinstance(record, Problem) else record
