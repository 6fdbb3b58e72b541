"""Builds Comparison JSON (docs/formats.md) from stored comparisons, several targets in one document."""

from collections.abc import Sequence
from dataclasses import astuple
from typing import Any

import msgspec
from psycopg import Connection

from cliffwatch.comparing.ordering import sort_rows
from cliffwatch.formats.comparison import (
    FORMAT,
    FORMAT_VERSION,
    RevisionComparison,
    RunComparison,
    SideRecord,
    TargetRecord,
)
from cliffwatch.formats.values import copy_fields
from cliffwatch.identities import digest_of
from cliffwatch.reports.several.across import across
from cliffwatch_service.compare.filters import Filters
from cliffwatch_service.compare.pairing import Answer, targets_of
from cliffwatch_service.compare.stored import read_stored_rows, read_summary, rows_text
from cliffwatch_service.refusal import Refusal
from cliffwatch_service.store.comparisons import StoredComparison


def document_tag(answers: Sequence[Answer], filters: Filters | None = None) -> str:
    """Identifies what these comparisons say, of the rows that pass the filters."""
    chosen = () if filters is None else astuple(filters)
    return digest_of([FORMAT_VERSION, *(each.comparison.digest for each in answers), *chosen])


def comparison_document(
    connection: Connection[Any],
    head: str,
    answers: Sequence[Answer],
    filters: Filters | None = None,
    *,
    demonstration: bool,
) -> bytes:
    """Comparison JSON of two revisions: all rows of every target, or those that pass the filters.

    Without filters, rows are spliced in as they are stored, which keeps thousands of rows cheap.
    """
    document = RevisionComparison(
        format=FORMAT,
        format_version=FORMAT_VERSION,
        method_version=answers[0].comparison.method_version,
        arms=(_base(answers), _set_commit(answers[0].summary.head, head)),
        targets=tuple(map(_target, answers)),
        comparisons=(),
        demonstration=demonstration,
    )
    rows = (
        [rows_text(connection, each.comparison.id) for each in answers]
        if filters is None
        else [_filter_rows(connection, answers, filters)]
    )
    return splice_rows(msgspec.json.encode(document), rows)


def _filter_rows(connection: Connection[Any], answers: Sequence[Answer], filters: Filters) -> bytes:
    """The rows that pass the filters as a JSON array: a case on every target, then the next case.

    Raises Refusal (404) for a suite that was not compared.
    """
    rows = [read_stored_rows(connection, each.comparison.id) for each in answers]
    suites = sorted({row.suite for of_target in rows for row in of_target})
    if filters.suite and filters.suite not in suites:
        raise Refusal(
            404, "no such suite", f"{filters.suite} is not in this comparison: it has {', '.join(suites)}"
        )
    every = across(rows, all_metrics=filters.metrics == "all")
    chosen = sort_rows(filters.choose(every, targets_of(answers)), filters.sort)
    return msgspec.json.encode([cell for row in chosen for cell in row.cells if cell is not None])


def _base(answers: Sequence[Answer]) -> SideRecord | None:
    """Returns the base; None if the targets have different bases."""
    bases = {each.target.base.commit for each in answers}
    return _set_commit(answers[0].summary.base, bases.pop()) if len(bases) == 1 else None


def _set_commit(side: SideRecord, commit: str) -> SideRecord:
    return msgspec.structs.replace(side, facts={**side.facts, "commit": commit})


def _target(answer: Answer) -> TargetRecord:
    summary, row = answer.summary, answer.comparison
    return copy_fields(
        TargetRecord,
        summary,
        platform=answer.target.platform,
        mode=answer.target.mode,
        base=answer.target.base.commit,
        distance=answer.target.distance,
        comparison=row.digest,
        runs=answer.runs,
        counts=row.counts,
        made=row.made,
    )


def run_document(connection: Connection[Any], stored: StoredComparison) -> bytes:
    """Returns the Comparison JSON of a run's own arms from the stored comparison."""
    summary = read_summary(stored.summary)
    members = {name: getattr(summary, name) for name in summary.__struct_fields__}
    document = RunComparison(**members, comparisons=(), comparison=stored.digest)
    return splice_rows(msgspec.json.encode(document), [rows_text(connection, stored.id)])


def splice_rows(document: bytes, rows: Sequence[bytes]) -> bytes:
    """Puts arrays of rows into the empty `comparisons` of an encoded document."""
    arrays = [each[1:-1] for each in rows]
    joined = b",".join(array for array in arrays if array)
    return document.replace(b'"comparisons":[]', b'"comparisons":[' + joined + b"]", 1)
