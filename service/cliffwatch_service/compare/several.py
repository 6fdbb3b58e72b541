"""Compares the arms of a run whose arms are not just base and head: each against the first, in one family."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import msgspec
from psycopg import Connection

from cliffwatch.comparing.attribution.changes import CaseFunctions, RowKey
from cliffwatch.comparing.compare_run import compare_all, sides_of_plan
from cliffwatch.comparing.comparison import METHOD_VERSION
from cliffwatch.failure import Failure
from cliffwatch.formats.comparison import ComparisonDocument, RunComparison
from cliffwatch.formats.reading import decode
from cliffwatch.identities import digest_of
from cliffwatch.reports.context import context_of_record
from cliffwatch.reports.json_report import document_of_arms
from cliffwatch.samples import AUXILIARY_ARMS, select_compared_arms
from cliffwatch_service.compare.analysis import StoredArm, inputs_of_arms, load_arms, side_of_run
from cliffwatch_service.compare.functions import functions_of_rows
from cliffwatch_service.ingest.boot_document import pack_content, unpack_content
from cliffwatch_service.refusal import Refusal, not_found
from cliffwatch_service.store import comparisons, run_arms, runs
from cliffwatch_service.store.comparisons import RunComparisonRow
from cliffwatch_service.store.run_arms import ArmRow
from cliffwatch_service.store.runs import RunRow


def has_other_arms(arms: Sequence[ArmRow]) -> bool:
    """True if a run has several arms to compare and they are not just base and head.

    A run of base and head, with or without an anchor, is compared as two revisions.
    """
    names = select_compared_arms(arm.name for arm in arms)
    return len(names) > 1 and set(names) != {"base", "head"}


def compare_own_arms(connection: Connection[Any], digest: str, now: datetime) -> None:
    """Compares the arms of a run if they are not just base and head, and stores the result.

    Does nothing if the stored comparison is up to date: same boots, same method version. Raises Refusal if
    the arms cannot be compared.
    """
    run = runs.run_row(connection, digest)
    if run is None:
        raise not_found("run", digest)
    rows = run_arms.arms_of(connection, run.id)
    if not has_other_arms(rows):
        return
    inputs = inputs_of_arms(connection, [row.id for row in rows])
    stored = comparisons.run_comparison(connection, run.id)
    if stored is not None and (stored.inputs, stored.method_version) == (inputs, METHOD_VERSION):
        return
    arms = {arm.row.name: arm for arm in load_arms(connection, [(run, row) for row in rows])}
    document = _compare_run_arms(connection, arms)
    digest = digest_of(["arms", run.digest, inputs, METHOD_VERSION])
    row = RunComparisonRow(
        run_id=run.id,
        digest=digest,
        inputs=inputs,
        method_version=METHOD_VERSION,
        document=pack_content(msgspec.json.encode(document)),
    )
    comparisons.keep_run_comparison(connection, row, now)


def _compare_run_arms(connection: Connection[Any], arms: Mapping[str, StoredArm]) -> ComparisonDocument:
    record = next(iter(arms.values())).record
    compared_arms = [arms[arm.name].arm for arm in record.arms if arm.name not in AUXILIARY_ARMS]
    compared = compare_all(
        sides_of_plan(record, compared_arms, {name: arm.arm for name, arm in arms.items()})
    )
    if isinstance(compared, Failure):
        raise Refusal(422, "not comparable", str(compared))
    functions: dict[tuple[str, RowKey], CaseFunctions] = {}
    for each in compared:
        ours, theirs = (side_of_run(arms[side.name]) for side in (each.base, each.head))
        functions |= functions_of_rows(connection, each, ours, theirs)
    return document_of_arms(compared, replace(context_of_record(record, None), functions=functions))


def find_arms_comparison(connection: Connection[Any], run: RunRow) -> RunComparison | None:
    """Returns the stored comparison of a run's arms; None if there is none yet."""
    stored = comparisons.run_comparison(connection, run.id)
    if stored is None:
        return None
    document = decode(unpack_content(stored.document), ComparisonDocument)
    members = {name: getattr(document, name) for name in document.__struct_fields__}
    return RunComparison(**members, comparison=stored.digest)
