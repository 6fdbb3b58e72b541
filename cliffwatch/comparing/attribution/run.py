"""The functions behind the rows of a run, from the function counts of its boots."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from cliffwatch.comparing.attribution.changes import CaseFunctions, Functions, RowKey
from cliffwatch.comparing.attribution.operations import OperationCounts, operation_counts
from cliffwatch.comparing.attribution.per_call import differing_functions
from cliffwatch.comparing.attribution.row import row_functions
from cliffwatch.comparing.comparison import ComparisonSet
from cliffwatch.formats.boot_record import BootRecord, SamplesRecord
from cliffwatch.formats.code.differences import ArmCode, CodeRecord
from cliffwatch.formats.code.function_counts import CaseCounts, FunctionCountsRecord
from cliffwatch.formats.code.profile import ProfileRecord
from cliffwatch.formats.comparison import ComparisonRow
from cliffwatch.formats.reading import read_as
from cliffwatch.formats.values import Part
from cliffwatch.parsers.readings import Problem
from cliffwatch.parsers.received.opening import read_regular
from cliffwatch.samples import CaseKey

D = TypeVar("D", bound=Part)

FUNCTION_COUNTS, CODE, PROFILE = "functions.json", "code.json", "profile.json"
_LARGEST_BYTES = 64 << 20
NO_IMAGES: Mapping[str, ArmCode] = {}


@dataclass(frozen=True, slots=True)
class _CountedBoot:
    """A boot with its function counts."""

    arm: str
    counts: FunctionCountsRecord
    cases: Mapping[CaseKey, CaseCounts]
    values: Mapping[RowKey, tuple[float, str]]
    """Values of its rows, with their units."""


def functions_of_run(
    folder: Path, compared: Iterable[ComparisonSet], images: Mapping[str, ArmCode] = NO_IMAGES
) -> Functions:
    """The functions of all primary rows that both sides measured and counted, by head's arm and row.

    `images` give by arm the code that differs; unchanged rows may hide it. Boots without function counts, or
    with unreadable files, are left out.
    """
    boots = [boot for home in sorted((folder / "boots").glob("*")) if (boot := _read_boot(home)) is not None]
    functions: dict[tuple[str, RowKey], CaseFunctions] = {}
    for each in compared:
        base = [boot for boot in boots if boot.arm == each.base.name]
        head = [boot for boot in boots if boot.arm == each.head.name]
        differing = differing_functions(images.get(each.head.name))
        for row in each.primary_rows() if base and head else ():
            of_row = row_functions(
                row,
                list(_of_boots(row, base)),
                list(_of_boots(row, head)),
                differing=differing,
            )
            if of_row is not None:
                functions[each.head.name, (row.case, row.metric)] = of_row
    return functions


def code_of_run(folder: Path) -> CodeRecord | None:
    """Code differences of each arm's kernel from the first arm's, and digests of the code that cases execute.

    None if the run has no such record.
    """
    return _read(folder / CODE, CodeRecord)


def profile_of_run(folder: Path) -> ProfileRecord | None:
    """The perf profiles of the cases that changed; None for a run without a profile."""
    return _read(folder / PROFILE, ProfileRecord)


def _of_boots(row: ComparisonRow, boots: Iterable[_CountedBoot]) -> Iterable[OperationCounts]:
    for boot in boots:
        case, value = boot.cases.get(row.case.planned), boot.values.get((row.case, row.metric))
        if case is None or value is None:
            continue
        counted = operation_counts(boot.counts, case, *value)
        if counted is not None:
            yield counted


def _read_boot(home: Path) -> _CountedBoot | None:
    about = _read(home / "boot.json", BootRecord)
    counts = _read(home / FUNCTION_COUNTS, FunctionCountsRecord) if about is not None else None
    measured = _read(home / "samples.json", SamplesRecord) if counts is not None else None
    if about is None or counts is None or measured is None:
        return None
    values = {(sample.case, sample.metric): (sample.value, sample.unit) for sample in measured.samples}
    return _CountedBoot(about.arm, counts, {case.case: case for case in counts.cases}, values)


def _read(path: Path, kind: type[D]) -> D | None:
    try:
        document = read_as(read_regular(path, _LARGEST_BYTES), kind)
    except OSError:
        return None
    return None if isinstance(document, Problem) else document
