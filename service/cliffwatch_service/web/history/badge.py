"""The badge of a branch: what its newest compared revision changed, as an image for other sites."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import Response
from psycopg import Connection

from cliffwatch.comparing.comparison import CHANGES, TROUBLED, size_of
from cliffwatch.identities import digest_of
from cliffwatch.reports.several.across import Across, across
from cliffwatch_service.compare.stored import read_stored_rows
from cliffwatch_service.http.context import ModeName, PlatformName, Service, ServiceHere
from cliffwatch_service.store import overview, trees
from cliffwatch_service.web.layout.render import HEADERS, query, render_drawing
from cliffwatch_service.web.layout.session import ReaderHere

router = APIRouter()

_REVISIONS = 30
"""Number of newest revisions among which the newest compared one is looked for."""
_FRESH_SECONDS = 300
"""How long others may keep the badge of a public service."""
_MOST_SHOWN = 40
"""Longest part of a branch's name in the badge, in characters."""

_RED, _ORANGE, _GREEN, _BLUE, _GREY = "#e05d44", "#fe7d37", "#97ca00", "#007ec6", "#9f9f9f"


@dataclass(frozen=True, slots=True)
class Badge:
    """What a badge says."""

    words: str
    colour: str
    about: str = ""
    """The compared revision and its base, for the tooltip; empty if there is none."""
    status: int = 200
    """HTTP status."""


@router.get("/badge/{branch:path}.svg")
def show_badge(
    branch: Annotated[str, Path(max_length=300)],
    request: Request,
    service: ServiceHere,
    _: ReaderHere,
    tree: Annotated[str | None, Query(max_length=2000)] = None,
    platform: PlatformName = None,
    mode: ModeName = None,
) -> Response:
    with service.transaction() as connection:
        badge = _badge(connection, branch, tree, platform, mode)
    label = f"cliffwatch {'demonstration ' if service.demonstration() else ''}{branch[:_MOST_SHOWN]}"
    svg = render_drawing(
        "history/badge.svg",
        label=label,
        words=badge.words,
        title=f"{branch}: {badge.words}{badge.about}",
        colour=badge.colour,
        left=_width(label),
        right=_width(badge.words),
    )
    return _answer(request, service, svg, badge.status)


def _answer(request: Request, service: Service, svg: str, status: int) -> Response:
    etag = f'"{digest_of(svg)}"'
    public = service.settings.public_reading
    headers = {
        **HEADERS,
        "Content-Security-Policy": "default-src 'none'; sandbox",
        "Cache-Control": f"public, max-age={_FRESH_SECONDS}" if public else HEADERS["Cache-Control"],
        "Vary": "Accept-Encoding" if public else "Accept-Encoding, Cookie",
        "ETag": etag,
    }
    known = [each.strip().removeprefix("W/") for each in request.headers.get("if-none-match", "").split(",")]
    if etag in known or "*" in known:
        return Response(status_code=304, headers=headers)
    return Response(svg, status, headers=headers, media_type="image/svg+xml")


def _badge(
    connection: Connection[Any], branch: str, tree: str | None, platform: str | None, mode: str | None
) -> Badge:
    found = trees.branches_called(connection, branch, tree) if branch.isprintable() else []
    if not found:
        return Badge("no such branch", _GREY, status=404)
    if len(found) > 1:
        return Badge("in several trees: add ?tree=", _GREY, status=409)
    rows = [
        row
        for row in overview.strip_of(connection, found[0].id, _REVISIONS)
        if row.comparison is not None and platform in (None, row.platform) and mode in (None, row.mode)
    ]
    if not rows:
        return Badge("not measured", _GREY)
    _, group = next(groupby(rows, key=lambda row: row.ordinal))
    newest = list(group)
    of_targets = [
        read_stored_rows(connection, row.comparison) for row in newest if row.comparison is not None
    ]
    words, colour = say_rows(across(of_targets))
    return Badge(words, colour, f" ({newest[0].commit[:12]} {newest[0].subject or ''})")


def say_rows(rows: Sequence[Across]) -> tuple[str, str]:
    """Returns words and colour of a comparison: `3 slower up to 5.5 %`. Counts cases over all targets."""
    worse, better, changed = (_changes(rows, kind) for kind in CHANGES)
    failed = sum(row.verdict in TROUBLED for row in rows)
    if worse.cases:
        also = f", {better.cases} faster" if better.cases else ""
        return f"{worse.cases} slower{worse.up_to}{also}", _RED
    if failed:
        return f"{failed} failed", _ORANGE
    if changed.cases:
        return f"{changed.cases} changed{changed.up_to}", _BLUE
    if better.cases:
        return f"{better.cases} faster{better.up_to}", _GREEN
    if not rows:
        return "not measured", _GREY
    return (
        ("no change", _GREEN) if all(row.verdict == "unchanged" for row in rows) else ("inconclusive", _GREY)
    )


@dataclass(frozen=True, slots=True)
class _Changes:
    """The cases with one kind of change on any target."""

    cases: int
    up_to: str
    """The largest change in words; empty if none has a percentage."""


def _changes(rows: Sequence[Across], kind: str) -> _Changes:
    cells = [[cell for cell in row.cells if cell and cell.verdict == kind] for row in rows]
    sizes = [size for row in cells for cell in row if math.isfinite(size := size_of(cell))]
    count = sum(map(bool, cells))
    return _Changes(count, f" {'by' if count == 1 else 'up to'} {100 * max(sizes):.2g} %" if sizes else "")


def _width(text: str) -> int:
    """Width of a text in Verdana at 11 px, padded; `textLength` then makes it fit any other font."""
    return 10 + round(sum(4.2 if each in " .,:il|'!-" else 9.5 if each in "mwMW%" else 6.8 for each in text))


def badge_path(branch: str, tree: str) -> str:
    """Returns the path of a branch's badge. Nothing in it can end a Markdown link."""
    return f"/badge/{quote(branch)}.svg{query({'tree': tree})}"
