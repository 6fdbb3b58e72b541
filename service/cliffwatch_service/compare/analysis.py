"""Compares stored arms, stores the verdicts and adds medians to history."""

import statistics
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import msgspec
from psycopg import Connection

from cliffwatch.comparing.compare_run import Sides, compare_run, sides_of_plan
from cliffwatch.comparing.comparison import METHOD_VERSION, ComparisonSet
from cliffwatch.failure import Failure
from cliffwatch.formats.reading import as_json
from cliffwatch.formats.result_directory import arm_of_record, plan_order
from cliffwatch.formats.run_record import RunRecord
from cliffwatch.formats.values import FreeJson
from cliffwatch.identities import digest_of, series_digest
from cliffwatch.reports.context import context_of_record
from cliffwatch.reports.json_report import comparison_document
from cliffwatch.samples import ANCHOR, AUXILIARY_ARMS, Arm, select_compared_arms
from cliffwatch.stats.ranks import median_rank
from cliffwatch_service.compare.functions import SideOfRun, functions_of_rows
from cliffwatch_service.ingest.boot_document import Columns, boots_of, columns_of, pack_content
from cliffwatch_service.ingest.columns import keys_of
from cliffwatch_service.ingest.stored_records import stored_record
from cliffwatch_service.refusal import Refusal, not_found
from cliffwatch_service.store import boots, comparisons, run_arms, run_code, runs, series
from cliffwatch_service.store.boots import WholeBootRow
from cliffwatch_service.store.comparisons import NewComparison, StoredComparison, VerdictRow
from cliffwatch_service.store.history import anchors, points
from cliffwatch_service.store.history.points import Point
from cliffwatch_service.store.run_arms import ArmRow
from cliffwatch_service.store.runs import RunRow

POINT_LEVEL = 0.95
_NOT_INDEXED = ("unchanged",)


@dataclass(frozen=True, slots=True)
class StoredArm:
    """An arm with its boots and its run."""

    arm: Arm
    row: ArmRow
    run: RunRow
    record: RunRecord


def load_arms(connection: Connection[Any], wanted: Sequence[tuple[RunRow, ArmRow]]) -> list[StoredArm]:
    """Loads arms from their stored boots, as `cliffwatch compare` loads them from a host's disk.

    Shared data is read once: the record of a run and the columns of its boots.
    """
    rows = {row.id: boots.whole_boots_of_arm(connection, row.id) for _, row in wanted}
    keys = keys_of(connection, [boot.columns_id for of_arm in rows.values() for boot in of_arm])
    records = {run_id: stored_record(run) for run_id, run in {run.id: run for run, _ in wanted}.items()}
    orders = {run_id: plan_order(record) for run_id, record in records.items()}
    known: dict[tuple[int, int], Columns] = {}
    for run, row in wanted:
        for number in {boot.columns_id for boot in rows[row.id]}:
            if (run.id, number) not in known:
                known[run.id, number] = columns_of(keys[number], orders[run.id])
    return [_stored_arm(run, row, records[run.id], rows[row.id], known) for run, row in wanted]


def _stored_arm(
    run: RunRow,
    row: ArmRow,
    record: RunRecord,
    rows: Sequence[WholeBootRow],
    columns: Mapping[tuple[int, int], Columns],
) -> StoredArm:
    loaded = boots_of(
        [(bytes(boot.content), columns[run.id, boot.columns_id], boot.samples) for boot in rows]
    )
    return StoredArm(arm_of_record(record, record.arm_by_name[row.name], loaded), row, run, record)


def analyse_run(connection: Connection[Any], digest: str, now: datetime) -> int | None:
    """Stores the points of a run and compares its base and head.

    Returns the id of the comparison; None if the run lacks base or head, or one of them has no revision.
    The anchor's medians are stored apart from the points of its revision, which would otherwise get one from
    every run. Idempotent. Raises Refusal if the run is unknown or its arms cannot be compared.
    """
    run = runs.run_row(connection, digest)
    if run is None:
        raise not_found("run", digest)
    rows = {row.name: row for row in run_arms.arms_of(connection, run.id)}
    compared = select_compared_arms(rows)
    for name, row in rows.items():
        if row.revision_id is None:
            continue
        if name in compared:
            medians = _medians(connection, row.id)
            points.replace_points(connection, row.id, row.revision_id, run.environment_id, medians)
        elif name == ANCHOR:
            anchors.replace_anchor_points(connection, run.id, row.revision_id, _medians(connection, row.id))
    base, head = rows.get("base"), rows.get("head")
    if base is None or head is None or base.revision_id is None or head.revision_id is None:
        return None
    return keep_compared(connection, base.id, head.id, now)


def _medians(connection: Connection[Any], arm_id: int) -> list[Point]:
    """Returns the median and interval of each series over the screening boots of an arm."""
    screened = [row for row in boots.samples_of_arm(connection, arm_id) if row.stage == "screen"]
    columns = series.columns_rows(connection, [row.columns_id for row in screened])
    values: dict[int, list[float]] = {}
    for boot in screened:
        for identity, value in zip(columns[boot.columns_id], boot.samples, strict=True):
            values.setdefault(identity, []).append(value)
    return [
        (identity, len(of_series), statistics.median(of_series), *_interval(of_series))
        for identity, of_series in values.items()
    ]


def _interval(values: Sequence[float]) -> tuple[float | None, float | None]:
    """Confidence interval of the median from order statistics; None, None if there are too few boots."""
    rank = median_rank(len(values), POINT_LEVEL)
    if rank is None:
        return None, None
    ordered = sorted(values)
    return ordered[rank], ordered[-1 - rank]


def stored_comparison(connection: Connection[Any], base_id: int, head_id: int) -> StoredComparison | None:
    """Returns the stored comparison of two arms; None if there is none or it is out of date.

    It is up to date if it was made by this method version from the boots and code.json that are stored now.
    """
    stored = comparisons.comparison_of_arms(connection, base_id, head_id)
    if stored is None or stored.method_version != METHOD_VERSION:
        return None
    return stored if stored.inputs == _inputs(connection, base_id, head_id) else None


def _inputs(connection: Connection[Any], base_id: int, head_id: int) -> str:
    return inputs_of_arms(connection, [base_id, head_id])


def inputs_of_arms(connection: Connection[Any], arms: Sequence[int]) -> str:
    """Digest of all inputs of a comparison: the boots and the code digests of the arms."""
    return digest_of(
        [
            *(boots.boot_digests_of_arm(connection, arm) for arm in arms),
            run_code.code_digests(connection, arms),
        ]
    )


def keep_compared(
    connection: Connection[Any],
    base_id: int,
    head_id: int,
    now: datetime,
    *,
    turn: AbstractContextManager[Any] | None = None,
) -> int:
    """Compares two stored arms and returns the id of the comparison.

    An up-to-date stored comparison is returned as it is. `turn` is a lock that is held only while the
    comparison is computed. Storing may wait for another transaction, which may itself need the lock because
    it compares several targets: holding the lock there would deadlock. Raises Refusal if the arms cannot be
    compared.
    """
    stored = stored_comparison(connection, base_id, head_id)
    if stored is not None:
        return stored.id
    with turn or nullcontext():
        row = _make_comparison(connection, base_id, head_id)
    return comparisons.keep_comparison(connection, row, now)


def _make_comparison(connection: Connection[Any], base_id: int, head_id: int) -> NewComparison:
    inputs = _inputs(connection, base_id, head_id)
    base, head, auxiliary = _sides(connection, base_id, head_id)
    assert base.row.revision_id is not None
    assert head.row.revision_id is not None
    compared = _compare_arms(base, head, auxiliary)
    functions = functions_of_rows(connection, compared, side_of_run(base), side_of_run(head))
    context = replace(context_of_record(head.record, None), functions=functions)
    if base.run.id != head.run.id:
        context = replace(context, chosen=())  # head's run chose them against its own base
    document = comparison_document(compared, context)
    summary: FreeJson = as_json(document)
    del summary["comparisons"]
    return NewComparison(
        digest=digest_of(["comparison", base.run.digest, head.run.digest, inputs, METHOD_VERSION]),
        platform=base.run.platform,
        mode=base.run.mode,
        base_arm_id=base_id,
        head_arm_id=head_id,
        base_revision_id=base.row.revision_id,
        head_revision_id=head.row.revision_id,
        inputs=inputs,
        method_version=METHOD_VERSION,
        counts={str(name): count for name, count in compared.counts().items()},
        summary=summary,
        rows=pack_content(msgspec.json.encode(document.comparisons)),
        indexed=_indexed_rows(connection, compared, base.run),
    )


def _sides(
    connection: Connection[Any], base_id: int, head_id: int
) -> tuple[StoredArm, StoredArm, Mapping[str, Arm]]:
    """Loads two arms and, if they are base and head of one run, its auxiliary arms by name."""
    wanted = []
    for arm_id in (base_id, head_id):
        row = run_arms.arm_row(connection, arm_id)
        run = runs.run_by_id(connection, row.run_id)
        assert run is not None
        wanted.append((run, row))
    (run, _), (other, _) = wanted
    if run.id == other.id:
        wanted += [(run, row) for row in run_arms.arms_of(connection, run.id) if row.name in AUXILIARY_ARMS]
    base, head, *others = load_arms(connection, wanted)
    return base, head, {other.row.name: other.arm for other in others}


def side_of_run(stored: StoredArm) -> SideOfRun:
    return SideOfRun(stored.arm, stored.row.id, stored.run.digest)


def _compare_arms(base: StoredArm, head: StoredArm, auxiliary: Mapping[str, Arm]) -> ComparisonSet:
    if base.run.id == head.run.id:
        compared = compare_run(sides_of_plan(base.record, (base.arm, head.arm), auxiliary))
    else:
        compared = compare_run(Sides(base=base.arm, head=head.arm))
    if isinstance(compared, Failure):
        raise Refusal(422, "not comparable", str(compared))
    return compared


def _indexed_rows(connection: Connection[Any], compared: ComparisonSet, run: RunRow) -> list[VerdictRow]:
    """Rows for the verdict index: all rows of existing series whose verdict is not `unchanged`."""
    rows = [row for row in compared.rows if row.verdict not in _NOT_INDEXED and row.metric]
    digests = [series_digest(row.case, row.metric, row.unit, run.platform, run.mode) for row in rows]
    ids = series.series_ids(connection, digests)
    by_series = {
        ids[digest]: VerdictRow(
            ids[digest],
            row.verdict,
            row.change,
            row.ci_low,
            row.ci_high,
            base_value=row.base if row.change is None else None,
            head_value=row.head if row.change is None else None,
        )
        for digest, row in zip(digests, rows, strict=True)
        if digest in ids
    }
    return list(by_series.values())
