"""The page of subscriptions to regression news: feeds for everybody, and the visitor's own subscriptions."""

from typing import Annotated, get_args

from fastapi import APIRouter, Path, Request
from fastapi.responses import RedirectResponse, Response

from cliffwatch.catalogue.load import load_catalogue
from cliffwatch_service.history.news.subscribing import (
    Wanted,
    end_subscription,
    mute,
    subscribe,
    subscriptions_for,
)
from cliffwatch_service.http.context import ServiceHere
from cliffwatch_service.ingest.free_form import plain_text
from cliffwatch_service.refusal import Refusal
from cliffwatch_service.store import trees
from cliffwatch_service.store.history.news.subscriptions import Channel
from cliffwatch_service.web.layout.render import page
from cliffwatch_service.web.layout.session import FormHere, ReaderHere, Visitor, require_form_token

router = APIRouter()

_LONGEST = 2000
SubscriptionNumber = Annotated[int, Path(ge=1, lt=2**31)]


@router.get("/subscriptions")
def show(request: Request, service: ServiceHere, visitor: ReaderHere) -> Response:
    return _subscriptions_page(request, service, visitor, secret=None)


def _subscriptions_page(
    request: Request, service: ServiceHere, visitor: Visitor, *, secret: str | None
) -> Response:
    may = visitor.caller.may("triage")
    with service.transaction() as connection:
        rows = subscriptions_for(connection, visitor.caller) if may else []
        branches = trees.list_branches(connection)
    settings = service.settings
    allowed = {
        "mail": settings.news_mail,
        "webhook": settings.news_webhooks,
        "issue": settings.news_repositories,
    }
    return page(
        request,
        visitor,
        "history/subscriptions.html",
        may=may,
        rows=rows,
        branches=branches,
        suites=[suite.name for suite in load_catalogue().suites],
        allowed={name: names for name, names in allowed.items() if names},
        secret=secret,
    )


@router.post("/subscriptions")
def make(
    request: Request, service: ServiceHere, form: FormHere, visitor: Annotated[Visitor, require_form_token()]
) -> Response:
    """Makes a subscription. The response shows the secret of a webhook; no later page does."""
    channel = next((each for each in get_args(Channel) if each == form.get("channel")), None)
    if channel is None:
        raise Refusal(
            422, "no such channel", f"news go by {', '.join(get_args(Channel))}: choose one of these"
        )
    wanted = Wanted(
        channel=channel,
        address=form.get("address", "").strip(),
        authors=_names(form, "authors"),
        subsystems=_names(form, "subsystems"),
        suites=_names(form, "suites"),
    )
    with service.transaction() as connection:
        made = subscribe(connection, wanted, visitor.caller, service.settings, service.now())
    if made.secret is None:
        return RedirectResponse("/subscriptions", 303)
    return _subscriptions_page(request, service, visitor, secret=made.secret)


def _names(form: FormHere, name: str) -> list[str]:
    """Splits a comma-separated field. Raises Refusal if it is too long."""
    text = plain_text(form.get(name, ""))
    found = [each.strip() for each in text.split(",") if each.strip()]
    if len(text) > _LONGEST or len(found) > 50:
        raise Refusal(
            422, "too long", f"the field {name!r} takes 50 names and 2,000 characters: make it shorter"
        )
    return found


@router.post("/subscriptions/{subscription}/mute")
def say_mute(
    subscription: SubscriptionNumber,
    service: ServiceHere,
    form: FormHere,
    visitor: Annotated[Visitor, require_form_token()],
) -> Response:
    days = {"0": 0, "7": 7, "30": 30, "": None}.get(form.get("days", ""), 7)
    with service.transaction() as connection:
        mute(connection, subscription, visitor.caller, days=days, report=None, now=service.now())
    return RedirectResponse("/subscriptions", 303)


@router.post("/subscriptions/{subscription}/end")
def end(
    subscription: SubscriptionNumber,
    service: ServiceHere,
    form: FormHere,  # noqa: ARG001 - the token check needs it
    visitor: Annotated[Visitor, require_form_token()],
) -> Response:
    with service.transaction() as connection:
        end_subscription(connection, subscription, visitor.caller, service.now())
    return RedirectResponse("/subscriptions", 303)
