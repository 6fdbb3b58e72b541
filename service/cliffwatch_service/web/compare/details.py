"""The details of a row of a comparison, on each target: samples, functions, code and raw outputs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

from psycopg import Connection

from cliffwatch.comparing.attribution.programs import ProgramBlock
from cliffwatch.formats.code.differences import ArmCode
from cliffwatch.formats.comparison import ComparisonRow
from cliffwatch.formats.run_record import RunRecord
from cliffwatch.identities import series_digest
from cliffwatch.reports.context import repeat_of
from cliffwatch.reports.figures import control_words
from cliffwatch.reports.legend import placement
from cliffwatch.reports.several.across import Across, Target
from cliffwatch.samples import CaseKey
from cliffwatch_service.compare.pairing import Answer
from cliffwatch_service.ingest.kernel_code import CodeOfCase, code_of_case, image_of
from cliffwatch_service.ingest.raw_outputs.storing import Transaction
from cliffwatch_service.ingest.stored_records import stored_record
from cliffwatch_service.store import boots, runs, series
from cliffwatch_service.store.series import SeriesRow
from cliffwatch_service.store.trees import RevisionRow
from cliffwatch_service.web.compare.functions import (
    CountedCase,
    CountedSides,
    counted_case,
    counted_sides,
    programs_of,
)
from cliffwatch_service.web.layout.boots import Strip, strips
from cliffwatch_service.web.layout.wording import interval_words
from cliffwatch_service.web.work.requests import RepeatRequest, build_repeat


@dataclass(frozen=True, slots=True)
class RawLink:
    """A link to the raw output of a case in one boot."""

    arm: str
    boot: int
    run: str
    path: str
    """Name of the file, URL-quoted."""


@dataclass(frozen=True, slots=True)
class Detail:
    """The details of a row on one target."""

    target: Target
    row: ComparisonRow | None
    """None if neither side ran the case on this target."""
    threshold: float
    """Smallest change that is reported, a fraction."""
    bounds: str
    """The kind of interval, in words."""
    placement: str
    """Whether the change is only placement; empty without matched layouts."""
    counted: bool
    """True for counted values, whose interval is run-to-run noise."""
    series: str | None
    """Digest; None if the series is not stored."""
    strips: Sequence[Strip]
    low: float
    """Smallest sample."""
    high: float
    """Largest sample."""
    raw: Sequence[RawLink]
    command: str
    """Repeats the measurement on a host of one's own."""
    again: RepeatRequest | None
    """The form that requests a repeat; None if hosts cannot fetch the tree."""
    warnings: Sequence[str]
    """Of the comparison, for a page that does not have it."""
    control: str
    """What base shows against itself; empty without a control."""
    runs: Sequence[str]
    """Digests: one run, or base's and head's."""
    counted_sides: CountedSides | None
    """The boots to read function counts from; None if a side has none."""
    instructions: CountedCase | None = None
    """None before `with_instructions`, and if a side was not counted."""
    image: ArmCode | None = None
    """How the kernels' code differs; None if that is not stored."""
    programs: Sequence[ProgramBlock] = ()
    """BPF programs of the case that differ."""
    code: CodeOfCase | None = None
    """Whether both arms execute the same code in this case; None without digests."""


def detail_of(
    connection: Connection[Any],
    row: Across,
    cell: ComparisonRow | None,
    target: Target,
    answer: Answer,
    head: RevisionRow,
) -> Detail:
    case = CaseKey(row.suite, row.benchmark, tuple(row.params.items()))
    metric, unit = (row.metric, row.unit) if cell is None else (cell.metric, cell.unit)
    digest = series_digest(case, metric, unit, target.platform, target.mode)
    series_row = series.series_by_digest(connection, digest)
    image = image_of(connection, answer.base_arm, answer.head_arm)
    threshold, level = (
        (answer.summary.notable, None) if cell is None else (cell.threshold, cell.interval_level)
    )
    record = _record(connection, answer.runs[-1])
    samples = [] if series_row is None else _samples(connection, series_row, answer)
    drawn, low, high = strips(samples) if any(values for _, values in samples) else ([], 0.0, 0.0)
    return Detail(
        target=target,
        row=cell,
        threshold=threshold,
        bounds=interval_words(level),
        placement="" if cell is None else placement(cell),
        counted=level is None and cell is not None and cell.ci_low is not None,
        series=digest if series_row is not None else None,
        strips=drawn,
        low=low,
        high=high,
        raw=_raw(connection, answer, case),
        command=repeat_of(
            record, answer.target.base.commit, head.commit, suite=row.suite, seed=str(record.plan.seed)
        ),
        again=build_repeat(record, answer.target.base.commit, head.commit, row.suite),
        warnings=[each.text for each in answer.summary.warnings],
        control=control_words(answer.summary.control) if answer.summary.control else "",
        runs=answer.runs,
        counted_sides=counted_sides(connection, digest, answer),
        image=image,
        programs=programs_of(cell, image),
        code=code_of_case(connection, answer.base_arm, answer.head_arm, case),
    )


def with_instructions(transaction: Transaction, detail: Detail) -> Detail:
    """Adds the function counts of the row. Reads them from raw outputs, in transactions of its own."""
    return replace(
        detail, instructions=counted_case(transaction, detail.row, detail.counted_sides, detail.image)
    )


def _samples(
    connection: Connection[Any], series_row: SeriesRow, answer: Answer
) -> list[tuple[str, list[tuple[float, str]]]]:
    """Returns name and samples of both arms: the value of each boot, with its tooltip."""
    arms = []
    for name, arm in (("base", answer.base_arm), ("head", answer.head_arm)):
        rows = series.samples_of_arm(connection, series_row.id, arm)
        unit = series_row.unit
        arms.append(
            (name, [(row.value, f"boot {row.number}: {row.value:g} {unit} ({row.stage})") for row in rows])
        )
    return arms


def _raw(connection: Connection[Any], answer: Answer, case: CaseKey) -> list[RawLink]:
    """Links the outputs of a case in all boots of both arms.

    The number in a file's name is the index of the case in the plan of its run.
    """
    links = []
    for name, arm, run in (
        ("base", answer.base_arm, answer.runs[0]),
        ("head", answer.head_arm, answer.runs[-1]),
    ):
        index = _index_in_plan(_record(connection, run), case)
        for row in boots.raw_files_of_arm(connection, arm) if index is not None else ():
            links += [
                RawLink(name, row.number, run, quote(file["name"]))
                for file in row.files
                if f"/{index:03d}-" in file["name"] and file["name"].endswith(".out")
            ]
    return links


def _index_in_plan(record: RunRecord, case: CaseKey) -> int | None:
    """Returns the index of a case in the plan of a run; None if the plan lacks it."""
    return next((index for index, each in enumerate(record.plan.cases) if each.case == case), None)


def _record(connection: Connection[Any], name: str) -> RunRecord:
    run = runs.run_row(connection, name)
    assert run is not None
    return stored_record(run)
