"""Builds Comparison JSON (docs/formats.md) from stored comparisons, several targets in one document."""

from collections.abc import Sequence
from typing import Any

import msgspec
from psycopg import Connection

from cliffwatch.formats.comparison import (
    FORMAT,
    FORMAT_VERSION,
    RevisionComparison,
    RunComparison,
    SideRecord,
    TargetRecord,
)
from cliffwatch.identities import digest_of
from cliffwatch_service.compare.pairing import Answer
from cliffwatch_service.compare.stored import read_summary, rows_text
from cliffwatch_service.store.comparisons import StoredComparison


def document_tag(answers: Sequence[Answer]) -> str:
    """Digest that identifies the content of a document of these comparisons."""
    return digest_of([FORMAT_VERSION, *(each.comparison.digest for each in answers)])


def comparison_document(
    connection: Connection[Any], head: str, answers: Sequence[Answer], *, demonstration: bool
) -> bytes:
    """Returns the Comparison JSON of two revisions.

    Rows are stored as JSON and spliced in without being parsed, which keeps thousands of rows cheap.
    """
    document = RevisionComparison(
        format=FORMAT,
        format_version=FORMAT_VERSION,
        method_version=answers[0].comparison.method_version,
        arms=(_base(answers), _at(answers[0].summary.head, head)),
        targets=tuple(map(_target, answers)),
        comparisons=(),
        demonstration=demonstration,
    )
    return splice_rows(
        msgspec.json.encode(document), [rows_text(connection, each.comparison.id) for each in answers]
    )


def _base(answers: Sequence[Answer]) -> SideRecord | None:
    """Returns the base; None if the targets have different bases."""
    bases = {each.target.base.commit for each in answers}
    return _at(answers[0].summary.base, bases.pop()) if len(bases) == 1 else None


def _at(side: SideRecord, commit: str) -> SideRecord:
    return msgspec.structs.replace(side, facts={**side.facts, "commit": commit})


def _target(answer: Answer) -> TargetRecord:
    summary, row = answer.summary, answer.comparison
    return TargetRecord(
        platform=answer.target.platform,
        mode=answer.target.mode,
        base=answer.target.base.commit,
        distance=answer.target.distance,
        comparison=row.digest,
        runs=answer.runs,
        counts=row.counts,
        made=row.made,
        notable=summary.notable,
        alpha=summary.alpha,
        chosen=summary.chosen,
        warnings=summary.warnings,
        failures=summary.failures,
        means=summary.means,
        control=summary.control,
        sweeps=summary.sweeps,
        left_out=summary.left_out,
        functions=summary.functions,
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
