"""The compare page. The same URL serves the comparison as JSON, text, commit message and Markdown."""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypedDict

from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi.responses import RedirectResponse, Response
from psycopg import Connection

from cliffwatch.comparing.attribution.blocks import TITLE
from cliffwatch.comparing.attribution.documents import blocks_of_document
from cliffwatch.comparing.ordering import FILTERS, SORTS
from cliffwatch.formats.run_record import RunRecord
from cliffwatch_service.compare.document import comparison_document, document_tag
from cliffwatch_service.compare.filters import Filters
from cliffwatch_service.compare.pairing import (
    Answer,
    RevisionPairs,
    answer_soon,
    find_pairs,
    normalise_pair_name,
    targets_of,
)
from cliffwatch_service.http.context import Service, ServiceHere
from cliffwatch_service.ingest.kernel_code import sentences_of
from cliffwatch_service.ingest.stored_records import stored_record
from cliffwatch_service.refusal import Refusal
from cliffwatch_service.store import runs, trees
from cliffwatch_service.store.history import ancestry, reports
from cliffwatch_service.store.history.ancestry import AncestorRow
from cliffwatch_service.store.trees import RevisionRow
from cliffwatch_service.web.compare.arms import run_of_other_arms, show_arms
from cliffwatch_service.web.compare.conditions import conditions
from cliffwatch_service.web.compare.details import detail_of, with_instructions
from cliffwatch_service.web.compare.formats import FORMS, MEDIA_TYPES, wanted_form, write_reports
from cliffwatch_service.web.compare.lines import row_at
from cliffwatch_service.web.compare.not_measured import list_unmeasured
from cliffwatch_service.web.compare.table import ComparePage, rows_of
from cliffwatch_service.web.compare.table import build_page as page_of
from cliffwatch_service.web.compare.tables import table_html
from cliffwatch_service.web.layout.render import page
from cliffwatch_service.web.layout.session import ReaderHere, Visitor

router = APIRouter()

Text = Annotated[str, Query(max_length=200)]
PairName = Annotated[str, Path(max_length=200)]


@dataclass(frozen=True, slots=True)
class Ready:
    """The finished part of a comparison."""

    head: RevisionRow
    answers: Sequence[Answer]
    pending: int
    """Number of targets that are still being compared."""
    refused: Sequence[tuple[str, str]]
    """Targets that cannot be compared, each with the reason."""


def _filters(
    text: Text = "",
    suite: Text = "",
    verdict: Text = "",
    where: Text = "",
    sort: Text = "size",
    metrics: Text = "",
    platform: Text = "",
    mode: Text = "",
) -> Filters:
    return Filters(text, suite, verdict, where, sort, metrics, platform, mode)


@router.get("/compare/{pair}")
def show(
    pair: PairName,
    request: Request,
    service: ServiceHere,
    visitor: ReaderHere,
    filters: Annotated[Filters, Depends(_filters)],
) -> Response:
    """Shows a comparison. The query holds all filters; `platform` and `mode` select columns."""
    name, form = wanted_form(pair, request.headers.get("accept", ""))
    with service.transaction() as connection:
        plain = normalise_pair_name(connection, name)
        if plain != name:
            return RedirectResponse(f"/compare/{plain}{pair.removeprefix(name)}{query_string(request)}", 303)
        run = run_of_other_arms(connection, name)
        if run is not None:
            shown = show_arms(connection, run, form, request, visitor, service)
            return shown or _build_pending_response(request, visitor, name, form)
        paired = _select_columns(find_pairs(connection, name), filters.platform, filters.mode)
        ready = _load_answers(connection, paired, service)
        if not ready.answers or (ready.pending and form != "html"):
            return _build_pending_response(request, visitor, name, form)
        if form != "html":
            return _format_response(connection, ready, form, service)
        compared_ = _lay_out(connection, ready, filters, name)
        context = _build_context(connection, ready, filters)
    return page(
        request,
        visitor,
        "compare/compare.html",
        pair=name,
        ready=ready,
        filters=filters,
        compared=compared_,
        table_html=table_html,
        forms=FORMS,
        causes_title=TITLE,
        verdicts=FILTERS,
        sorts=SORTS,
        headers={"Refresh": "5"} if ready.pending else {},
        **context,
    )


def query_string(request: Request) -> str:
    """Returns the query of a request, with `?`, for a redirect."""
    return f"?{request.url.query}" if request.url.query else ""


def _build_pending_response(request: Request, visitor: Visitor, name: str, form: str) -> Response:
    """Returns a page that reloads itself; for other formats, a response with Retry-After."""
    if form == "html":
        return page(
            request, visitor, "compare/comparing.html", status=202, headers={"Refresh": "2"}, pair=name
        )
    body = "the comparison is being computed: ask again in a few seconds\n"
    return Response(
        body, 202, headers={"Retry-After": "3", "Vary": "Accept"}, media_type="text/plain; charset=utf-8"
    )


_pages: OrderedDict[tuple[object, ...], ComparePage] = OrderedDict()
_pages_lock = threading.Lock()
_MOST_CAUSES = 4
_MOST_FUNCTIONS = 4
_MOST_PAGES = 16
"""Laid-out pages to keep in memory. Laying out thousands of rows takes ten times as long as writing them."""


def _lay_out(connection: Connection[Any], ready: Ready, filters: Filters, pair: str) -> ComparePage:
    key = (document_tag(ready.answers), tuple(each.target.distance for each in ready.answers), filters, pair)
    with _pages_lock:
        laid_out = _pages.get(key)
        if laid_out is not None:
            _pages.move_to_end(key)
            return laid_out
    made = page_of(ready.answers, rows_of(connection, ready.answers), filters, pair)
    with _pages_lock:
        _pages[key] = made
        while len(_pages) > _MOST_PAGES:
            _pages.popitem(last=False)
    return made


def _select_columns(paired: RevisionPairs, platform: str, mode: str) -> RevisionPairs:
    """Selects the requested columns of a pair. Raises Refusal if none is left."""
    pairs = [
        each
        for each in paired.pairs
        if platform in ("", each.target.platform) and mode in ("", each.target.mode)
    ]
    if not pairs:
        there = " and ".join(f"{each.target.platform} ({each.target.mode})" for each in paired.pairs)
        raise Refusal(404, "not measured", f"pair not measured on {platform} {mode}, but on {there}")
    return RevisionPairs(paired.head, pairs)


def _load_answers(connection: Connection[Any], paired: RevisionPairs, service: Service) -> Ready:
    """Reads stored comparisons, makes small ones now and requests the others in the background.

    Raises Refusal if no target can be compared.
    """
    answers: list[Answer] = []
    refused: list[tuple[str, str]] = []
    pending = 0
    for pair in paired.pairs:
        try:
            answer = answer_soon(connection, pair, service.now())
        except Refusal as refusal:
            if len(paired.pairs) == 1:
                raise
            refused.append((f"{pair.target.platform} {pair.target.mode}", refusal.detail))
            continue
        if answer is None:
            pending += 1
        else:
            answers.append(answer)
    if not answers and not pending:
        raise Refusal(422, "not comparable", "; ".join(f"{name}: {why}" for name, why in refused))
    return Ready(paired.head, answers, pending, refused)


def _format_response(connection: Connection[Any], ready: Ready, form: str, service: Service) -> Response:
    if form == "json":
        commit, made_up = ready.head.commit, service.demonstration()
        body = comparison_document(connection, commit, ready.answers, demonstration=made_up)
    else:
        records = [_records(connection, each)[1] for each in ready.answers]
        rows = rows_of(connection, ready.answers)
        body = write_reports(
            ready.answers, rows, records, form, demonstration=service.demonstration()
        ).encode()
    headers = {"Vary": "Accept", "Cache-Control": "no-cache", "X-Content-Type-Options": "nosniff"}
    return Response(body, headers=headers, media_type=MEDIA_TYPES[form])


def _records(connection: Connection[Any], answer: Answer) -> tuple[RunRecord, RunRecord]:
    """Returns run.json of base's and of head's run, which may be the same run."""
    records = {name: _record(connection, name) for name in answer.runs}
    return records[answer.runs[0]], records[answer.runs[-1]]


def _record(connection: Connection[Any], name: str) -> RunRecord:
    row = runs.run_row(connection, name)
    assert row is not None
    return stored_record(row)


class _PageContext(TypedDict):
    """Template variables besides the rows. `object` stands where only the template looks inside."""

    bases: Sequence[RevisionRow]
    head: RevisionRow
    distance: int | None
    conditions: Sequence[object]
    failures: Sequence[object]
    chosen: Sequence[str]
    left_out: Sequence[object]
    means: Sequence[object]
    notes: Sequence[tuple[int, str]]
    """On the run of a target; its index and the note."""
    causes: Sequence[object]
    code: Sequence[object]
    tree: str
    reported: object
    neighbours: object


def _build_context(connection: Connection[Any], ready: Ready, filters: Filters) -> _PageContext:
    """Collects the content around the rows: revisions, their distance, conditions, failures and causes."""
    bases = {each.target.base.id: each.target.base for each in ready.answers}
    rows = trees.revision_rows(connection, [*bases, ready.head.id])
    of_targets = []
    records = [_records(connection, each) for each in ready.answers]
    for each, (ours, theirs) in zip(ready.answers, records, strict=True):
        names = (
            ("base", "head")
            if len(each.runs) == 1
            else (_arm_of(ours, each.target.base), _arm_of(theirs, ready.head))
        )
        of_targets.append(conditions(ours, names[0], theirs, names[1]))
    only = next(iter(bases)) if len(bases) == 1 else None
    failures = [
        (index, failure) for index, each in enumerate(ready.answers) for failure in each.summary.failures
    ]
    return {
        "bases": [rows[identity] for identity in bases],
        "head": rows[ready.head.id],
        "distance": ancestry.distance(connection, only, ready.head.id) if only is not None else None,
        "conditions": of_targets,
        "failures": failures,
        "chosen": list(dict.fromkeys(text for each in ready.answers for text in each.summary.chosen)),
        "left_out": list(list_unmeasured(ready.answers)),
        "means": [(index, mean) for index, each in enumerate(ready.answers) for mean in each.summary.means],
        "notes": [(index, note) for index, each in enumerate(ready.answers) for note in each.summary.notes],
        "causes": [
            (index, *blocks_of_document(each.summary.functions, most=_MOST_CAUSES, each=_MOST_FUNCTIONS))
            for index, each in enumerate(ready.answers)
            if each.summary.functions
        ],
        "code": sentences_of(connection, [(each.base_arm, each.head_arm) for each in ready.answers]),
        "tree": records[0][1].tree,
        "reported": reports.reports_between(connection, list(bases), ready.head.id),
        "neighbours": ancestry.measured_neighbours(
            connection, ready.head.id, platform=filters.platform, mode=filters.mode
        ),
    }


def _arm_of(record: RunRecord, revision: RevisionRow | AncestorRow) -> str:
    return next((arm.name for arm in record.arms if arm.facts.commit == revision.commit), "head")


@router.get("/compare/{pair}/cases/{path:path}")
def show_case(
    pair: PairName,
    path: Annotated[str, Path(max_length=1000)],
    request: Request,
    service: ServiceHere,
    visitor: ReaderHere,
    metric: Text = "",
    platform: Text = "",
    mode: Text = "",
) -> Response:
    """Shows a row in detail: values, samples, raw outputs, history, and the command that repeats it."""
    with service.transaction() as connection:
        paired = find_pairs(connection, pair)
        answers = _load_answers(connection, _select_columns(paired, platform, mode), service).answers
        if not answers:
            raise Refusal(
                503, "being compared", "the comparison is being computed: look again in a few seconds"
            )
        rows = rows_of(connection, answers)
        row = row_at(rows, request.url.path.split("/cases/", 1)[1], path, metric)
        details = [
            detail_of(connection, row, cell, target, answer, paired.head)
            for cell, target, answer in zip(row.cells, targets_of(answers), answers, strict=True)
        ]
    details = [with_instructions(service.transaction, detail) for detail in details]
    template = "compare/case_fragment.html" if request.headers.get("hx-request") else "compare/case.html"
    return page(request, visitor, template, pair=pair, row=row, details=details, head=paired.head)
