"""The endpoint of the search."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from cliffwatch_service.api.answers import answer
from cliffwatch_service.api.models.history import SearchResults
from cliffwatch_service.api.series import about
from cliffwatch_service.history.finding import find_everything
from cliffwatch_service.http.context import PREFIX, Allowed, ServiceHere

router = APIRouter(prefix=PREFIX, tags=["series"])


@router.get(
    "/search",
    summary="Revisions, branches, tags, suites and series that a text names",
    description="At most 20 of each. Revisions match by the beginning of their commit, or of each word in"
    " their subject; everything else matches by any part of its name.",
    responses={200: {"model": SearchResults}},
)
def search(
    q: Annotated[str, Query(min_length=1, max_length=500)],
    request: Request,
    service: ServiceHere,
    _: Allowed,
) -> Response:
    with service.transaction() as connection:
        found = find_everything(connection, q.replace("\0", "").strip())
    results = SearchResults(
        revisions=list(found.revisions),
        branches=list(found.branches),
        tags=list(found.tags),
        suites=[suite.name for suite in found.suites],
        series=[about(row) for row in found.series],
    )
    return answer(request, results)
