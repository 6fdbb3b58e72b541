"""The search of every page's head: revisions, branches, tags, suites and series."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import RedirectResponse, Response

from cliffwatch_service.history.finding import MOST, SearchMatches, find_everything, is_commit
from cliffwatch_service.http.context import ServiceHere
from cliffwatch_service.web.layout.render import page
from cliffwatch_service.web.layout.session import ReaderHere

router = APIRouter()


@router.get("/search")
def find(
    request: Request,
    service: ServiceHere,
    visitor: ReaderHere,
    q: Annotated[str, Query(max_length=500)] = "",
) -> Response:
    """Shows the results. Redirects to the result if there is only one."""
    text = q.replace("\0", "").strip()
    with service.transaction() as connection:
        found = find_everything(connection, text)
    if found.count() == 1:
        return RedirectResponse(_address(found), 303)
    digits = text.lower()
    commit = digits if is_commit(digits) else None
    return page(request, visitor, "search.html", text=text, commit=commit, found=found, most=MOST)


def _address(found: SearchMatches) -> str:
    """URL path of the first result."""
    commits = [row.commit for row in found.revisions] + [row.commit for row in (*found.branches, *found.tags)]
    if commits:
        return f"/revisions/{commits[0]}"
    return f"/suites/{found.suites[0].name}" if found.suites else f"/series/{found.series[0].digest}"
