"""Sign-in with a GitHub account: to GitHub's page, and back from it with a code."""

import secrets
from contextlib import closing
from typing import Annotated, NoReturn

from fastapi import APIRouter, Query, Request
from fastapi.responses import RedirectResponse, Response
from itsdangerous import BadSignature, URLSafeSerializer

from cliffwatch_service.github.app.files import app_files
from cliffwatch_service.github.calling import GitHub
from cliffwatch_service.github.signing_in import (
    CALLBACK,
    Attempt,
    account_of_code,
    authorize_url,
    begin_attempt,
    sign_in_person,
)
from cliffwatch_service.http.addresses import address_of
from cliffwatch_service.http.context import Service, ServiceHere, too_many
from cliffwatch_service.http.logging import name_in_log
from cliffwatch_service.refusal import Refusal
from cliffwatch_service.web.layout import session
from cliffwatch_service.web.layout.session import own_address

router = APIRouter()

COOKIE = "cliffwatch_github_sign_in"
_SECONDS = 600
"""How long a sign-in may take. GitHub's code is good for ten minutes too."""

Text = Annotated[str, Query(max_length=500)]


@router.get("/sign-in/github")
def leave(
    request: Request, service: ServiceHere, next_: Annotated[str, Query(alias="next", max_length=2000)] = "/"
) -> Response:
    """Sends the browser to GitHub, with a cookie that knows it again."""
    if service.settings.github_client_id is None:
        _refuse("this service has no sign-in with GitHub: sign in with a token")
    attempt = begin_attempt()
    response = RedirectResponse(authorize_url(service.settings, attempt), 303)
    response.set_cookie(
        COOKIE,
        _cookies(service).dumps(
            [attempt.state, attempt.verifier, own_address(next_), service.now().timestamp()]
        ),
        max_age=_SECONDS,
        path=CALLBACK,
        httponly=True,
        samesite="lax",
        secure=request.url.scheme == "https",
    )
    return response


@router.get(CALLBACK)
def come_back(
    request: Request, service: ServiceHere, code: Text = "", state: Text = "", error_description: Text = ""
) -> Response:
    """Signs in whoever GitHub says it is, if this browser began it."""
    if service.settings.github_client_id is None:
        _refuse("this service has no sign-in with GitHub: sign in with a token")
    if not service.rates.allow(f"guess {address_of(request.scope)}", service.now()):
        raise too_many()
    attempt, going = _attempt_of(request, service, state)
    if not code:
        _refuse(f"GitHub says: {error_description or 'nothing'}. Sign in again or use a token")
    settings = service.settings
    with closing(GitHub(settings.github_api, app_files(settings), service.now)) as github:
        account = account_of_code(github, settings, code, attempt)
    with service.transaction() as connection:
        caller = sign_in_person(connection, settings, account, service.now())
    name_in_log(request, caller)
    response = RedirectResponse(going, 303)
    session.begin(request, response, service, caller)
    response.delete_cookie(COOKIE, path=CALLBACK)
    return response


def _cookies(service: Service) -> URLSafeSerializer:
    return URLSafeSerializer(service.session_key, salt="github sign-in")


def _attempt_of(request: Request, service: Service, state: str) -> tuple[Attempt, str]:
    """Returns the attempt that this browser began, and the page to go to. Raises Refusal."""
    try:
        begun, verifier, going, at = _cookies(service).loads(request.cookies.get(COOKIE, ""))
    except BadSignature:
        _refuse("this browser did not begin it, or it took too long: sign in again")
    age = service.now().timestamp() - at
    if not 0 <= age < _SECONDS or not secrets.compare_digest(begun.encode(), state.encode()):
        _refuse("this browser did not begin it, or it took too long: sign in again")
    return Attempt(state=begun, verifier=verifier), going


def _refuse(detail: str) -> NoReturn:
    raise Refusal(403, "not signed in", detail)
