"""Sign-in with a token, and sign-out."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import RedirectResponse, Response

from cliffwatch_service.http.addresses import address_of
from cliffwatch_service.http.context import ServiceHere, caller_by_secret
from cliffwatch_service.http.logging import name_in_log
from cliffwatch_service.refusal import Refusal
from cliffwatch_service.web.layout import session
from cliffwatch_service.web.layout.render import page
from cliffwatch_service.web.layout.session import FormHere, VisitorHere, own_address

router = APIRouter()


@router.get("/sign-in")
def show(
    request: Request,
    service: ServiceHere,
    visitor: VisitorHere,
    next_: Annotated[str, Query(alias="next", max_length=2000)] = "/",
) -> Response:
    return page(
        request,
        visitor,
        "layout/sign_in.html",
        next_page=own_address(next_),
        problem=None,
        by_github=service.settings.github_client_id is not None,
    )


@router.post("/sign-in")
def sign_in(request: Request, service: ServiceHere, visitor: VisitorHere, form: FormHere) -> Response:
    """Exchanges a token for a session cookie."""
    going = own_address(form.get("next"))
    try:
        caller = caller_by_secret(service, address_of(request.scope), form.get("token", "").strip())
    except Refusal as refusal:
        return page(
            request,
            visitor,
            "layout/sign_in.html",
            status=refusal.status,
            next_page=going,
            problem=refusal.detail,
            by_github=service.settings.github_client_id is not None,
        )
    name_in_log(request, caller)
    response = RedirectResponse(going, 303)
    session.begin(request, response, service, caller)
    return response


@router.post("/sign-out")
def sign_out(service: ServiceHere, form: FormHere, visitor: VisitorHere) -> Response:
    """Ends the session. A form with another session's token does nothing."""
    response = RedirectResponse("/", 303)
    if visitor.signed_in and form.get(session.FORM_FIELD) == visitor.form_token:
        session.end(response, service, visitor)
    return response
