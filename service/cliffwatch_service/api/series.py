"""Endpoints for series, their histories and samples, and for branches and revisions."""

from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import Response
from psycopg import Connection

from cliffwatch_service.api.answers import JSON, answer, answer_bytes, page, take
from cliffwatch_service.api.models.history import Branch, RevisionWhole, Series, SeriesHistory, SeriesSamples
from cliffwatch_service.api.models.lists import Page
from cliffwatch_service.compare.naming import find_revision
from cliffwatch_service.history.watching.epochs import find_epoch_begins
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
from cliffwatch_service.store import series, trees
from cliffwatch_service.store.history import watching
from cliffwatch_service.store.history.points import history
from cliffwatch_service.store.series import SeriesRow

router = APIRouter(prefix=PREFIX, tags=["series"])

SeriesId = Annotated[str, Path(pattern="^[0-9a-f]{32}$", description="The series' identity")]
Name = Annotated[str | None, Query(max_length=200)]


@router.get(
    "/series",
    summary="Series, by suite, benchmark, platform and mode",
    responses={200: {"model": Page[Series]}},
)
def list_series(
    request: Request,
    service: ServiceHere,
    _: Allowed,
    suite: Name = None,
    benchmark: Name = None,
    platform: PlatformName = None,
    mode: ModeName = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Response:
    (after,) = read_cursor(cursor, identity)
    with service.transaction() as connection:
        rows = series.list_series(
            connection,
            platform=platform,
            mode=mode,
            suite=suite,
            benchmark=benchmark,
            after=after or 0,
            limit=limit + 1,
        )
    return answer(request, page(rows, limit, lambda row: cursor_of(row.id), about))


def about(row: SeriesRow) -> Series:
    return take(Series, row, series=row.digest, params=dict(row.params))


@router.get("/series/{digest}", summary="One series", responses={200: {"model": Series}})
def read_series(digest: SeriesId, request: Request, service: ServiceHere, _: Allowed) -> Response:
    with service.transaction() as connection:
        row = _series_named(connection, digest)
    return answer(request, about(row))


def _series_named(connection: Connection[Any], digest: str) -> SeriesRow:
    row = series.series_by_digest(connection, digest)
    if row is None:
        raise not_found("series", digest)
    return row


@router.get(
    "/series/{digest}/history",
    summary="Medians over revisions, newest first",
    description="Points are in first-parent order of a branch if `tree` and `branch` are given, else by date."
    " `low` and `high` bound the 95 % confidence interval of the median. Values of different epochs are not"
    " comparable. If a revision was measured several times, its point is the newest measurement; the samples"
    " endpoint has all of them. A point's `anchor` is the value of the anchor, a fixed revision, in the same"
    " run. Noisy series with an anchor are watched relative to it. `epochs` says what of the environment"
    " changed where an epoch begins, oldest first: no step is reported across it. `host_events` are events"
    " where the series stepped together with many others of its host, or where the anchor stepped. `trends`"
    " are drifts without a step.",
    responses={200: {"model": SeriesHistory}},
)
def read_history(
    digest: SeriesId,
    request: Request,
    service: ServiceHere,
    _: Allowed,
    tree: Annotated[str | None, Query(max_length=2000)] = None,
    branch: Name = None,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 5000,
) -> Response:
    if (tree is None) != (branch is None):
        raise Refusal(422, "no branch", "half of the branch is missing: give both `tree` and `branch`")
    with service.transaction() as connection:
        row = _series_named(connection, digest)
        branch_id = None
        if tree is not None and branch is not None:
            branch_id = trees.branch_named(connection, tree, branch)
            if branch_id is None:
                raise not_found("branch", f"{tree} {branch}")
        points = history(connection, service.arms, row.id, branch_id, limit)
        events = watching.host_events_of(connection, row.id)
        trends = watching.trends_of(connection, row.id)
        epochs = find_epoch_begins(connection, points[::-1], row.mode)
    content = {
        **dict(about(row)),
        "points": points,
        "epochs": epochs,
        "host_events": events,
        "trends": trends,
    }
    return answer_bytes(request, msgspec.json.encode(content), JSON)


@router.get(
    "/series/{digest}/samples",
    summary="Every boot's sample at one revision",
    responses={200: {"model": SeriesSamples}},
)
def read_samples(
    digest: SeriesId,
    request: Request,
    service: ServiceHere,
    _: Allowed,
    revision: Annotated[str, Query(max_length=64)],
    limit: Annotated[int, Query(ge=1, le=10_000)] = 1000,
) -> Response:
    with service.transaction() as connection:
        row = _series_named(connection, digest)
        at = find_revision(connection, revision)
        samples = series.samples_of(connection, row, at.id, limit)
    return answer(
        request, {**dict(about(row)), "revision": at.commit, "samples": [each._asdict() for each in samples]}
    )


@router.get(
    "/branches",
    summary="Branches whose first-parent order is known",
    responses={200: {"model": Page[Branch]}},
)
def list_branches(request: Request, service: ServiceHere, _: Allowed) -> Response:
    with service.transaction() as connection:
        rows = trees.list_branches(connection)
    return answer(
        request, {"items": [{"tree": row.tree, "branch": row.branch} for row in rows], "next": None}
    )


@router.get(
    "/revisions/{commit}",
    summary="A revision and the targets that measured it",
    responses={200: {"model": RevisionWhole}},
)
def read_revision(
    commit: Annotated[str, Path(max_length=64)], request: Request, service: ServiceHere, _: Allowed
) -> Response:
    with service.transaction() as connection:
        row = find_revision(connection, commit)
        measured = series.targets_measured(connection, row.id)
    return answer(request, take(RevisionWhole, row, measured=measured))
