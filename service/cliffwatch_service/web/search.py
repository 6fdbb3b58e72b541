"""The search box of every page: finds revisions, branches, tags and series by their displayed text."""

import re
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from cliffwatch_service.http.context import ServiceHere
from cliffwatch_service.store import overview, trees
from cliffwatch_service.store.history import search
from cliffwatch_service.web.history.series import words_of
from cliffwatch_service.web.layout.render import page
from cliffwatch_service.web.layout.session import ReaderHere

router = APIRouter()

_MOST = 20
_COMMIT = re.compile(rf"[0-9a-f]{{{trees.SHORTEST_PREFIX},64}}")
_WORD = re.compile(r"\w+")


@router.get("/search")
def find(
    request: Request,
    service: ServiceHere,
    visitor: ReaderHere,
    q: Annotated[str, Query(max_length=500)] = "",
) -> Response:
    """Shows at most 20 hits of each kind."""
    text = q.replace("\0", "").strip()
    digits = text.lower()
    with service.transaction() as connection:
        revisions = search.revisions_beginning(connection, digits, _MOST) if _COMMIT.fullmatch(digits) else []
        revisions += search.revisions_about(connection, _WORD.findall(digits)[:20], _MOST)
        words = words_of(text)
        series = overview.series_of_case(connection, words, "", skip=0, limit=_MOST) if words else []
        branches = search.branches_named_like(connection, text, _MOST) if text else []
        tags = search.tags_named_like(connection, text, _MOST) if text else []
    return page(
        request,
        visitor,
        "search.html",
        text=text,
        commit=digits if _COMMIT.fullmatch(digits) else None,
        revisions=list({row.commit: row for row in revisions}.values())[:_MOST],
        branches=branches,
        tags=tags,
        series=series,
        most=_MOST,
    )
