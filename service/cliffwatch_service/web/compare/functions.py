"""The functions behind one row, from the function counts in the raw outputs of its boots."""

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace
from psycopg import Connection

from cliffwatch.comparing.attribution.blocks import CodeOfArm, FunctionBlock, block_of, code_of_arm
from cliffwatch.comparing.attribution.changes import SHARE_OF_CASE
from cliffwatch.comparing.attribution.operations import OperationCounts, mean_of, operation_counts
from cliffwatch.comparing.attribution.per_call import differing_functions
from cliffwatch.comparing.attribution.programs import ProgramBlock, program_blocks
from cliffwatch.comparing.attribution.row import row_functions, with_same_objects
from cliffwatch.formats.code.differences import ArmCode
from cliffwatch.formats.comparison import ComparisonRow
from cliffwatch.reports.styles import plain
from cliffwatch.samples import CaseKey
from cliffwatch_service.compare.functions import MOST_COUNTED_BOOTS, boots_with_counts, counts_of_boot
from cliffwatch_service.compare.pairing import Answer
from cliffwatch_service.ingest.raw_outputs.storing import Transaction
from cliffwatch_service.store import series
from cliffwatch_service.web.layout.icicle import Icicle, icicle_of


@dataclass(frozen=True, slots=True)
class CountedBoot:
    """A boot with function counts."""

    run: str
    number: int
    value: float
    """The boot's sample of the row."""


@dataclass(frozen=True, slots=True)
class CountedSides:
    """The boots of base and of head whose counts explain a row."""

    base: Sequence[CountedBoot]
    head: Sequence[CountedBoot]


def counted_sides(connection: Connection[Any], digest: str | None, answer: Answer) -> CountedSides | None:
    """Returns boots with function counts for a row, given its series' digest. None if a side has none."""
    row = None if digest is None else series.series_by_digest(connection, digest)
    if row is None or answer.target.mode != "icount":
        return None
    base = _boots(connection, row.id, answer.base_arm, answer.runs[0])
    head = _boots(connection, row.id, answer.head_arm, answer.runs[-1])
    return CountedSides(base, head) if base and head else None


def _boots(connection: Connection[Any], series_id: int, arm: int, run: str) -> list[CountedBoot]:
    values = {row.number: row.value for row in series.samples_of_arm(connection, series_id, arm)}
    with_counts = [number for number in boots_with_counts(connection, arm) if number in values]
    return [CountedBoot(run, number, values[number]) for number in with_counts[:MOST_COUNTED_BOOTS]]


@dataclass(frozen=True, slots=True)
class CountedCase:
    """Function counts of a row."""

    functions: FunctionBlock | None
    """Functions behind the change, or changed functions that an unchanged row hides; None without any."""
    icicle: Icicle | None
    """All instructions; None if the operations are unknown."""


def counted_case(
    transaction: Transaction, row: ComparisonRow | None, sides: CountedSides | None, image: ArmCode | None
) -> CountedCase | None:
    """Reads the function counts of a row. None if a side was not counted.

    Archives are uploads: skips parts that cannot be read.
    """
    if row is None or sides is None:
        return None
    case = CaseKey(row.suite, row.benchmark, tuple(row.params.items()))
    base: Sequence[OperationCounts] = list(_instructions(transaction, case, row.unit, sides.base))
    head: Sequence[OperationCounts] = list(_instructions(transaction, case, row.unit, sides.head))
    if not base or not head:
        return None
    found = row_functions(row, base, head, differing=differing_functions(image))
    block = None if found is None else block_of(case, found, _code(image), most=_MOST_FUNCTIONS)
    least = SHARE_OF_CASE * sum(base[0].instructions.values())
    base, head = with_same_objects(base, head, least=least)
    return CountedCase(block, icicle_of(mean_of(base), mean_of(head)))


def programs_of(row: ComparisonRow | None, image: ArmCode | None) -> tuple[ProgramBlock, ...]:
    """Returns the BPF programs of a row's case that differ. Replaces control characters that a host sent."""
    if row is None:
        return ()
    blocks = program_blocks(image, CaseKey(row.suite, row.benchmark, tuple(row.params.items())))
    return tuple(
        dataclasses.replace(each, name=plain(each.name), lines=tuple(map(plain, each.lines)))
        for each in blocks
    )


def _code(image: ArmCode | None) -> CodeOfArm | None:
    """Returns the functions' code. Replaces control characters that a host sent."""
    if image is None:
        return None
    functions = tuple(replace(each, lines=tuple(map(plain, each.lines))) for each in image.functions)
    return code_of_arm(replace(image, functions=functions))


_MOST_FUNCTIONS = 40


def _instructions(
    transaction: Transaction, case: CaseKey, unit: str, counted: Sequence[CountedBoot]
) -> Iterator[OperationCounts]:
    for boot in counted:
        record = counts_of_boot(transaction, boot.run, boot.number)
        found = (
            None
            if record is None
            else next((each for each in record.cases if each.case == case.planned), None)
        )
        if record is not None and found is not None:
            each = operation_counts(record, found, boot.value, unit)
            if each is not None:
                yield each
