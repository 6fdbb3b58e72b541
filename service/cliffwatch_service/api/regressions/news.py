"""Endpoints for news of regression reports: the Atom feed and subscriptions."""

from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from cliffwatch_service.api.answers import answer, answer_bytes, take
from cliffwatch_service.api.models.lists import Page
from cliffwatch_service.api.models.news import Subscription, SubscriptionEnded, SubscriptionMade
from cliffwatch_service.history.news.feed import MEDIA_TYPE, FeedAbout, atom_feed, last_update
from cliffwatch_service.history.news.subscribing import (
    Wanted,
    end_subscription,
    mute,
    subscribe,
    subscriptions_for,
)
from cliffwatch_service.http.context import PREFIX, Allowed, ServiceHere
from cliffwatch_service.ingest.free_form import Prose
from cliffwatch_service.ingest.request_fields import Name
from cliffwatch_service.refusal import Refusal
from cliffwatch_service.store import trees
from cliffwatch_service.store.history.news import outbox
from cliffwatch_service.store.history.news.subscriptions import Channel, SubscriptionRow

router = APIRouter(prefix=PREFIX, tags=["regressions"])

_MOST_ENTRIES = 50
_BEGAN = datetime(2026, 11, 1, tzinfo=UTC)
"""Time of the last change of a feed without news."""

SubscriptionNumber = Annotated[int, Path(ge=1, lt=2**31)]
Filter = Annotated[Prose, StringConstraints(min_length=1, max_length=200)]


class SubscriptionBody(BaseModel):
    """A subscription to news. An empty list of authors, subsystems or suites does not filter.

    `address` depends on `channel`: a mail address for `mail`, an https URL for `webhook`, a repository
    (OWNER/NAME) for `issue`.
    """

    model_config = ConfigDict(extra="forbid")

    channel: Channel
    address: Annotated[str, StringConstraints(min_length=1, max_length=500)]
    authors: Annotated[list[Filter], Field(max_length=50)] = []
    subsystems: Annotated[list[Filter], Field(max_length=50)] = []
    suites: Annotated[list[Name], Field(max_length=50)] = []


class MuteBody(BaseModel):
    """News to mute: those of `report`, or all if it is null.

    `days` is for how long all news are muted: 0 ends the muting, null mutes for good.
    """

    model_config = ConfigDict(extra="forbid")

    days: Annotated[int, Field(ge=0, le=3650)] | None = None
    report: Annotated[str, StringConstraints(pattern="^[0-9a-f]{32}$")] | None = None


@router.get(
    "/feed",
    summary="Atom feed of news of regression reports: all, of a branch or of a suite",
    response_class=Response,
    responses={200: {"content": {MEDIA_TYPE: {}}}},
)
def read_feed(
    request: Request,
    service: ServiceHere,
    _: Allowed,
    tree: Annotated[str | None, Query(max_length=2000, description="Needs `branch`")] = None,
    branch: Annotated[str | None, Query(max_length=200, description="Branch of `tree`")] = None,
    suite: Annotated[str | None, Query(max_length=200)] = None,
) -> Response:
    """The newest 50 news, newest first.

    The ids of the feed and of its entries never change. Conditional requests may use ETag or Last-Modified.
    """
    if (tree is None) != (branch is None):
        raise Refusal(422, "half a branch", "give both `tree` and `branch`: GET /branches lists them")
    with service.transaction() as connection:
        number = None if tree is None or branch is None else trees.branch_named(connection, tree, branch)
        if branch is not None and number is None:
            raise Refusal(
                404, "no such branch", f"there is no branch {branch!r} of {tree!r}: GET /branches lists them"
            )
        news = outbox.list_newest_news(connection, suite=suite, branch=number, limit=_MOST_ENTRIES)
    title = ", ".join([each for each in (branch and f"branch {branch}", suite and f"suite {suite}") if each])
    about = FeedAbout(
        name="feed"
        + "".join(f"/{each}" for each in (number and f"branch-{number}", suite and f"suite-{suite}") if each),
        title=f"Cliffwatch: news of regressions{f' of {title}' if title else ''}",
        address=service.settings.pages_url
        + request.url.path
        + (f"?{request.url.query}" if request.url.query else ""),
        pages_url=service.settings.pages_url,
        began=_BEGAN,
    )
    changed = last_update(news, about).astimezone(UTC).replace(microsecond=0)
    headers = {"Last-Modified": format_datetime(changed, usegmt=True)}
    if _is_current(request, changed):
        return Response(status_code=304, headers=headers)
    answered = answer_bytes(request, atom_feed(news, about), MEDIA_TYPE)
    answered.headers.update(headers)
    return answered


def _is_current(request: Request, changed: datetime) -> bool:
    """Whether If-Modified-Since shows that the client is up to date.

    Ignored if the client sends an ETag, which is more exact (RFC 9110, 13.1.3).
    """
    since = request.headers.get("if-modified-since")
    if since is None or "if-none-match" in request.headers:
        return False
    try:
        moment = parsedate_to_datetime(since)
    except ValueError:
        return False
    return moment.tzinfo is not None and changed <= moment


@router.get(
    "/subscriptions",
    summary="Your subscriptions; for administrators, all subscriptions",
    responses={200: {"model": Page[Subscription]}},
)
def list_subscriptions(request: Request, service: ServiceHere, caller: Allowed) -> Response:
    with service.transaction() as connection:
        rows = subscriptions_for(connection, caller)
    return answer(request, {"items": [_shown(row) for row in rows], "next": None})


def _shown(row: SubscriptionRow) -> Subscription:
    return take(Subscription, row, subscription=row.id)


@router.post(
    "/subscriptions",
    summary="Subscribe an address to news; the service's settings must allow it",
    status_code=201,
    responses={201: {"model": SubscriptionMade}},
)
def make_subscription(
    body: SubscriptionBody, request: Request, service: ServiceHere, caller: Allowed
) -> Response:
    wanted = Wanted(
        channel=body.channel,
        address=body.address,
        authors=body.authors,
        subsystems=body.subsystems,
        suites=body.suites,
    )
    with service.transaction() as connection:
        made = subscribe(connection, wanted, caller, service.settings, service.now())
    return answer(request, SubscriptionMade(subscription=made.id, secret=made.secret), status=201)


@router.delete(
    "/subscriptions/{subscription}",
    summary="End a subscription; waiting news are not sent",
    responses={200: {"model": SubscriptionEnded}},
)
def end(
    subscription: SubscriptionNumber, request: Request, service: ServiceHere, caller: Allowed
) -> Response:
    with service.transaction() as connection:
        end_subscription(connection, subscription, caller, service.now())
    return answer(request, SubscriptionEnded(subscription=subscription, ended=True))


@router.post(
    "/subscriptions/{subscription}/mute",
    summary="Mute a subscription for some days, or for one report",
    responses={200: {"model": Subscription}},
)
def say_mute(
    subscription: SubscriptionNumber, body: MuteBody, request: Request, service: ServiceHere, caller: Allowed
) -> Response:
    with service.transaction() as connection:
        mute(connection, subscription, caller, days=body.days, report=body.report, now=service.now())
        (row,) = [each for each in subscriptions_for(connection, caller) if each.id == subscription]
    return answer(request, _shown(row))
