"""The page of a run with arms other than base and head: one row per case, one column per arm."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

import msgspec
from fastapi import Request
from fastapi.responses import Response
from psycopg import Connection

from cliffwatch.comparing.attribution.documents import functions_of_document
from cliffwatch.comparing.comparison import ComparisonSet
from cliffwatch.comparing.ordering import is_beyond_noise
from cliffwatch.formats.comparison import ComparisonRow
from cliffwatch.reports import figures
from cliffwatch.reports.answer import answer_set
from cliffwatch.reports.context import ReportContext, context_of_record, trials
from cliffwatch.reports.json_reading import arm_sets_of
from cliffwatch.reports.several.arms import commit_of_arms, markdown_of_arms, text_of_arms
from cliffwatch.reports.several.matrix import arm_names, cell, matrix
from cliffwatch_service.compare.pairing import find_run_unless_commit
from cliffwatch_service.compare.several import find_arms_comparison, has_other_arms
from cliffwatch_service.http.context import Service
from cliffwatch_service.ingest.ingest import is_fully_uploaded
from cliffwatch_service.ingest.stored_records import stored_record
from cliffwatch_service.refusal import Refusal
from cliffwatch_service.store import run_arms
from cliffwatch_service.store.runs import RunRow
from cliffwatch_service.web.compare.formats import DEMONSTRATION, FORMS, MEDIA_TYPES
from cliffwatch_service.web.layout.render import page
from cliffwatch_service.web.layout.session import Visitor


def run_of_other_arms(connection: Connection[Any], name: str) -> RunRow | None:
    """Returns the run with this name if it has arms other than base and head; None for anything else."""
    run = None if "." in name else find_run_unless_commit(connection, name)
    return run if run is not None and has_other_arms(run_arms.arms_of(connection, run.id)) else None


def show_arms(
    connection: Connection[Any], run: RunRow, form: str, request: Request, visitor: Visitor, service: Service
) -> Response | None:
    """Renders the comparison as a page or in another format.

    None if it is still being computed. Raises Refusal if boots are outstanding.
    """
    document = find_arms_comparison(connection, run)
    if document is None:
        if is_fully_uploaded(connection, run):
            return None
        raise Refusal(404, "not compared", "this run is not compared yet: its last boots are not here")
    if form == "json":
        return _text(msgspec.json.encode(document).decode(), form)
    record = stored_record(run)
    compared = arm_sets_of(document)
    context = replace(context_of_record(record, None), functions=functions_of_document(document.functions))
    if form != "html":
        demonstration = f"{DEMONSTRATION}\n\n" if service.demonstration() else ""
        return _text(demonstration + _WRITERS[form](compared, context), form)
    rows = matrix(compared)
    return page(
        request,
        visitor,
        "compare/arms.html",
        run=run,
        names=arm_names(compared),
        parts=[(each, answer_set(each).result) for each in compared],
        suites=[(suite, list(group)) for suite, group in groupby(rows, key=lambda row: row.case.suite)],
        chosen=context.chosen,
        notes=context.notes,
        failures=context.failures,
        boots=list(dict.fromkeys(trials(each.base, each.head) for each in compared)),
        control=next((figures.control_words(each.control) for each in compared if each.control), ""),
        forms=FORMS,
        value=figures.value,
        cell=cell,
        bounds=bounds,
        beyond_noise=is_beyond_noise,
    )


def bounds(row: ComparisonRow | None) -> str:
    """Formats the interval of a change. Empty if it has none or if the change is within the noise."""
    if row is None or row.ci_low is None or row.ci_high is None or not is_beyond_noise(row):
        return ""
    return f"{100 * row.ci_low:+.2f} to {100 * row.ci_high:+.2f} %"


def _text(body: str, form: str) -> Response:
    headers = {"Vary": "Accept", "Cache-Control": "no-cache", "X-Content-Type-Options": "nosniff"}
    return Response(body.encode(), headers=headers, media_type=MEDIA_TYPES[form])


def _as_text(compared: Sequence[ComparisonSet], context: ReportContext) -> str:
    return text_of_arms(compared, context, colour=False, all_metrics=False)


_WRITERS: Mapping[str, Callable[[Sequence[ComparisonSet], ReportContext], str]] = {
    "text": _as_text,
    "commit": commit_of_arms,
    "markdown": markdown_of_arms,
}
