"""Endpoints for comparisons: of two revisions, of a run, or with the nearest measured ancestor."""

from typing import Annotated

import msgspec
from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi.responses import Response

from cliffwatch.comparing.ordering import FILTERS, SORTS
from cliffwatch.formats.comparison import RevisionComparison, RunComparison
from cliffwatch_service.api.answers import JSON, answer, answer_bytes, page, take
from cliffwatch_service.api.documents import document_response
from cliffwatch_service.api.models.lists import Page
from cliffwatch_service.api.models.results import ComparisonListed
from cliffwatch_service.api.runs import RunId
from cliffwatch_service.compare.brief import Brief, as_json, brief_answer
from cliffwatch_service.compare.document import comparison_document, document_tag, run_document
from cliffwatch_service.compare.filters import Filters
from cliffwatch_service.compare.pairing import NEAREST, find_answers
from cliffwatch_service.compare.several import find_arms_comparison, has_other_arms
from cliffwatch_service.http.context import (
    PREFIX,
    Allowed,
    Cursor,
    Limit,
    ModeName,
    PlatformName,
    ServiceHere,
)
from cliffwatch_service.http.cursors import cursor_of, identity, read_cursor
from cliffwatch_service.refusal import Refusal, not_found
from cliffwatch_service.store import comparisons, run_arms, runs
from cliffwatch_service.store.comparisons import ComparisonListedRow

router = APIRouter(prefix=PREFIX, tags=["comparisons"])


@router.get(
    "/comparisons",
    summary="Comparisons, newest first",
    responses={200: {"model": Page[ComparisonListed]}},
)
def list_comparisons(
    request: Request,
    service: ServiceHere,
    _: Allowed,
    platform: PlatformName = None,
    mode: ModeName = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    (number,) = read_cursor(cursor, identity)
    with service.transaction() as connection:
        rows = comparisons.list_comparisons(
            connection, platform=platform, mode=mode, before=number, limit=limit + 1
        )
    return answer(request, page(rows, limit, lambda row: cursor_of(row.id), _listed))


def _listed(row: ComparisonListedRow) -> ComparisonListed:
    return take(ComparisonListed, row, comparison=row.digest)


def _one_of(*values: str) -> str:
    return f"^({'|'.join(values)})$"


def _filters(
    text: Annotated[
        str, Query(max_length=200, description="Words in the row's suite, benchmark, parameters or metric")
    ] = "",
    suite: Annotated[str, Query(max_length=200)] = "",
    verdict: Annotated[
        str | None,
        Query(pattern=_one_of(*FILTERS), description="The verdict over all targets; `changed` is any change"),
    ] = None,
    where: Annotated[
        str, Query(max_length=200, description="Targets that have the verdict, as the page says it: `both`")
    ] = "",
    sort: Annotated[str | None, Query(pattern=_one_of(*SORTS))] = None,
    metrics: Annotated[str | None, Query(pattern="^(primary|all)$")] = None,
) -> Filters | None:
    """None if no filter is given: the document then has every row."""
    if not (text or suite or verdict or where or sort or metrics):
        return None
    return Filters(text, suite, verdict or "", where, sort or "size", metrics or "")


@router.get(
    "/comparisons/{pair}",
    summary="Comparison of two revisions on every target that measured both",
    description="Comparison JSON (docs/formats.md) with the rows of every platform and mode. BASE may be"
    " `nearest`: the nearest measured ancestor, which the response names in `targets`. The filters are the"
    " compare page's; with any of them, `comparisons` has the rows that pass, sorted, and only the primary"
    " metric of each case unless `metrics` is `all`. `targets` always describes the whole comparison.",
    responses=document_response(RevisionComparison),
)
def compare_revisions(
    pair: Annotated[str, Path(max_length=200, description="BASE...HEAD: commits or their first digits")],
    request: Request,
    service: ServiceHere,
    _: Allowed,
    filters: Annotated[Filters | None, Depends(_filters)],
    platform: PlatformName = None,
    mode: ModeName = None,
) -> Response:
    base, dots, head = pair.partition("...")
    if not dots or not base or not head:
        raise Refusal(422, "no pair", f"two revisions are missing: write BASE...HEAD, or {NEAREST}...HEAD")
    with service.transaction() as connection:
        found = find_answers(connection, base, head, platform, mode, service.now())
    if found.pending:
        detail = "it is large and made in the background: send the request again in a few seconds"
        raise Refusal(503, "the comparison is being made", detail, retry_after=10)
    with service.transaction() as connection:
        tag = document_tag(found.answers, filters)
        if f'W/"{tag}"' in request.headers.get("if-none-match", ""):
            return answer_bytes(request, b"", JSON, tag=tag)
        body = comparison_document(
            connection, found.head.commit, found.answers, filters, demonstration=service.demonstration()
        )
    return answer_bytes(request, body, JSON, tag=tag)


@router.get(
    "/answer",
    summary="What a commit changed, in at most 2 KB",
    description="Verdict, largest changes, causes and a link to every row, against the nearest measured"
    " ancestor unless `base` is given. `measured` is false for a commit, suite or target without a result;"
    " `sentence` then says why.",
    responses={200: {"model": Brief}},
)
def answer_for_commit(
    request: Request,
    service: ServiceHere,
    _: Allowed,
    commit: Annotated[
        str, Query(max_length=200, description="A commit, its first digits, a tag or a branch")
    ],
    suite: Annotated[str, Query(max_length=200)] = "",
    base: Annotated[str, Query(max_length=200)] = NEAREST,
    platform: PlatformName = None,
    mode: ModeName = None,
) -> Response:
    filters = Filters(suite=suite, platform=platform or "", mode=mode or "")
    with service.transaction() as connection:
        brief = brief_answer(connection, base, commit, filters, service.settings.pages_url, service.now())
    return answer_bytes(request, as_json(brief), JSON)


@router.get(
    "/runs/{run}/comparison",
    summary="The comparison of a run's own arms",
    responses=document_response(RunComparison),
)
def compare_run(run: RunId, request: Request, service: ServiceHere, _: Allowed) -> Response:
    with service.transaction() as connection:
        row = runs.run_row(connection, run)
        if row is None:
            raise not_found("run", run)
        own_arms = run_arms.arms_of(connection, row.id)
        several = find_arms_comparison(connection, row) if has_other_arms(own_arms) else None
        if several is not None:
            return answer_bytes(request, msgspec.json.encode(several), JSON, tag=several.comparison)
        arms = {arm.name: arm.id for arm in own_arms}
        stored = (
            comparisons.comparison_of_arms(connection, arms["base"], arms["head"])
            if {"base", "head"} <= set(arms)
            else None
        )
        if stored is None:
            raise Refusal(
                404,
                "not compared",
                "this run has no comparison: not all of its boots are uploaded yet, or it has only one arm",
            )
        body = run_document(connection, stored)
    return answer_bytes(request, body, JSON, tag=stored.digest)
