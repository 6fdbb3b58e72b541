"""The form that names the two sides of a comparison, and redirects from other spellings of its URL."""

from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Path, Request
from fastapi.responses import RedirectResponse, Response
from psycopg import Connection

from cliffwatch_service.compare.pairing import (
    NEAREST,
    find_run_unless_commit,
    normalise_pair_name,
    split_sides,
)
from cliffwatch_service.http.context import ServiceHere
from cliffwatch_service.refusal import Refusal
from cliffwatch_service.store import runs
from cliffwatch_service.store.runs import RunsWanted
from cliffwatch_service.web.compare.page import Text, query_string
from cliffwatch_service.web.layout.render import page
from cliffwatch_service.web.layout.session import ReaderHere

router = APIRouter()


@router.get("/compare")
def choose(
    request: Request, service: ServiceHere, visitor: ReaderHere, base: Text = "", head: Text = ""
) -> Response:
    """Redirects to the comparison that the form names. Without a head, shows the form."""
    with service.transaction() as connection:
        wanted = _read_pair(connection, base.strip(), head.strip())
        if wanted:
            return RedirectResponse(f"/compare/{normalise_pair_name(connection, wanted)}", 303)
        recent = runs.list_runs(connection, RunsWanted(limit=20))
    return page(request, visitor, "compare/choose.html", base=base, recent=recent)


def _read_pair(connection: Connection[Any], base: str, head: str) -> str:
    """Returns the pair that the two fields name; empty without a head.

    Either field may hold a whole pair. A run as head, without a base, means the comparison of its own arms.
    """
    whole = next((each for each in (head, base) if split_sides(each) is not None), None)
    if whole is not None:
        return whole
    if head and not base and (run := find_run_unless_commit(connection, head)) is not None:
        return run.digest
    return f"{base or NEAREST}...{head}" if head else ""


@router.get("/compare/{rest:path}")
def other_forms(
    rest: Annotated[str, Path(max_length=400)],
    request: Request,
    service: ServiceHere,
    visitor: ReaderHere,  # noqa: ARG001 - checks the right to read
) -> Response:
    """Redirects pairs that contain a slash, as names of branches do, and BASE/HEAD, a common habit."""
    if split_sides(rest) is not None:
        with service.transaction() as connection:
            return RedirectResponse(
                f"/compare/{normalise_pair_name(connection, rest)}{query_string(request)}", 303
            )
    base, slash, head = rest.partition("/")
    if not slash or not base or not head or "/" in head:
        raise Refusal(404, "nothing here", "a comparison is at /compare/BASE...HEAD")
    return RedirectResponse(f"/compare/{quote(base)}...{quote(head)}", 308)
