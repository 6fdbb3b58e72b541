"""Comparison JSON of several targets in one document (docs/formats.md), from what is stored."""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from psycopg import Connection

from cliffwatch.identities import digest_of
from cliffwatch.reports.json_report import FORMAT_VERSION
from cliffwatch_service.compare.pairing import Answer
from cliffwatch_service.ingest.boot_document import unpacked
from cliffwatch_service.store import comparisons


def document_tag(answers: Sequence[Answer]) -> str:
    """The identity of what these comparisons say."""
    return digest_of([each.comparison.digest for each in answers])


def comparison_document(connection: Connection[Any], head: str, answers: Sequence[Answer], **more: Any) -> bytes:
    """The rows are stored as they are answered, so a comparison of thousands is put together without being read. `more` are
    members of the document besides.
    """
    bases = {each.target.base.commit for each in answers}
    first = answers[0].comparison.summary
    summary = {
        "format": "cliffwatch-comparison",
        "format_version": FORMAT_VERSION,
        "method_version": answers[0].comparison.method_version,
        "base": {**first["base"], "commit": answers[0].target.base.commit} if len(bases) == 1 else None,
        "head": {**first["head"], "commit": head},
        "targets": [_target(each) for each in answers],
        **more,
    }
    return spliced(summary, [comparisons.rows_of(connection, each.comparison.id) for each in answers])


def _target(answer: Answer) -> dict[str, Any]:
    summary = answer.comparison.summary
    return {
        "platform": answer.target.platform,
        "mode": answer.target.mode,
        "base": answer.target.base.commit,
        "distance": answer.target.distance,
        "comparison": answer.comparison.digest,
        "runs": answer.runs,
        "counts": answer.comparison.counts,
        "made": answer.comparison.made,
        **{name: summary[name] for name in ("notable", "failures", "means", "control", "sweeps", "left_out")},
        "warnings": summary.get("warnings", []),
    }


def spliced(summary: Mapping[str, Any], rows: Sequence[bytes]) -> bytes:
    """A summary with the stored arrays of rows as its `comparisons`."""
    opened = orjson.dumps(summary, option=orjson.OPT_UTC_Z)[:-1]
    arrays = [unpacked(each)[1:-1] for each in rows]
    return opened + b',"comparisons":[' + b",".join(array for array in arrays if array) + b"]}"
