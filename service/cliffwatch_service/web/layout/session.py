"""Sessions of visitors: the public, or people who signed in with a token.

The signed session cookie holds the token's number, a nonce and the time of sign-in. Every request checks that
the token is still valid and that the session was not ended by signing out. Forms carry the nonce, signed
separately, so that no other site can write on behalf of a visitor.
"""

import secrets
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Any
from urllib.parse import parse_qsl, urlsplit

from fastapi import Depends, Request
from fastapi.responses import Response
from itsdangerous import BadSignature, URLSafeSerializer
from starlette.concurrency import run_in_threadpool

from cliffwatch_service.access.authorisation import refuse_without_right
from cliffwatch_service.access.tokens import (
    NOBODY,
    PUBLIC,
    Caller,
    hash_token,
    load_signed_in_caller,
    refuse_unless,
)
from cliffwatch_service.http.addresses import address_of
from cliffwatch_service.http.context import Service, ServiceHere, caller_of_request, check_rate, operation_of
from cliffwatch_service.http.logging import name_in_log
from cliffwatch_service.refusal import Refusal
from cliffwatch_service.runtime.settings import Settings
from cliffwatch_service.store import tokens

COOKIE = "cliffwatch_session"
FORM_FIELD = "form_token"
_MOST_FIELDS = 50


@dataclass(frozen=True, slots=True)
class Visitor:
    """The visitor of a page."""

    caller: Caller
    form_token: str = ""
    """Token that the visitor's forms must carry; empty unless signed in."""
    nonce: str = ""
    """The session's nonce; empty unless signed in."""

    @property
    def signed_in(self) -> bool:
        return self.caller.token_id is not None


def session_key(settings: Settings) -> str:
    """Returns the signing key: the one in the settings, else the data directory's, created if missing."""
    if settings.session_key is not None:
        return settings.session_key.get_secret_value()
    path = settings.data_dir / "session-key"
    if not path.exists():
        settings.data_dir.mkdir(parents=True, exist_ok=True)
        fresh = path.with_suffix(".new")
        fresh.touch(mode=0o600)
        fresh.write_text(secrets.token_urlsafe(48))
        fresh.replace(path)
    return path.read_text()


def _cookies(service: Service) -> URLSafeSerializer:
    return URLSafeSerializer(service.session_key, salt="session")


def _forms(service: Service) -> URLSafeSerializer:
    return URLSafeSerializer(service.session_key, salt="form")


def begin(request: Request, response: Response, service: Service, caller: Caller) -> None:
    """Signs a caller in: starts a session and sets its cookie."""
    assert caller.token_id is not None
    now, nonce = service.now(), secrets.token_urlsafe(16)
    with service.transaction() as connection:
        tokens.forget_sessions(connection, now - _session_lifetime(service))
        tokens.insert_session(connection, hash_token(nonce), caller.token_id, now)
    response.set_cookie(
        COOKIE,
        _cookies(service).dumps([caller.token_id, nonce, now.timestamp()]),
        max_age=service.settings.session_hours * 3600,
        httponly=True,
        samesite="lax",
        secure=request.url.scheme == "https",
    )


def _session_lifetime(service: Service) -> timedelta:
    return timedelta(hours=service.settings.session_hours)


def end(response: Response, service: Service, visitor: Visitor) -> None:
    """Signs a visitor out. Copies of the cookie become invalid."""
    with service.transaction() as connection:
        tokens.end_session(connection, hash_token(visitor.nonce))
    response.delete_cookie(COOKIE)


def visitor_of(request: Request, service: ServiceHere) -> Visitor:
    """Returns the visitor of a request. Raises Refusal for too many requests.

    An expired or forged cookie, or one of a revoked token, counts as no cookie. Programs read pages with a
    token in the header; they cannot write: their forms have no session.
    """
    visitor = _find_visitor(request, service)
    program = None if visitor is not None else _visiting_program(request, service)
    if program is not None:
        request.state.visitor = program
        return program
    if visitor is None:
        visitor = Visitor(PUBLIC if service.settings.public_reading else NOBODY)
    else:
        name_in_log(request, visitor.caller)
    request.state.visitor = visitor
    check_rate(service, visitor.caller, address_of(request.scope))
    return visitor


def _visiting_program(request: Request, service: Service) -> Visitor | None:
    """Returns the owner of a bearer token that reads a page, else None. Raises Refusal for a bad token.

    Another scheme is a proxy's own password, which is not ours to judge.
    """
    if request.method != "GET" or not request.headers.get("authorization", "").lower().startswith("bearer "):
        return None
    # `Admission` to a private service asks before the page does: one request counts once.
    caller: Caller | None = getattr(request.state, "caller", None)
    request.state.caller = caller_of_request(request, service) if caller is None else caller
    return Visitor(request.state.caller)


def _find_visitor(request: Request, service: Service) -> Visitor | None:
    cookie = request.cookies.get(COOKIE)
    if cookie is None:
        return None
    now = service.now()
    try:
        token_id, nonce, began = _cookies(service).loads(cookie)
        if not 0 <= now.timestamp() - began < _session_lifetime(service).total_seconds():
            return None
        with service.transaction() as connection:
            if not tokens.session_lasts(connection, hash_token(nonce), token_id):
                return None
            caller = load_signed_in_caller(connection, token_id, now)
    except (BadSignature, Refusal):
        return None
    return Visitor(caller, _forms(service).dumps(nonce), nonce)


def is_signed_in(request: Request, service: Service) -> bool:
    """True if the request has a valid session cookie, or a program's token, and the caller may read."""
    visitor = _find_visitor(request, service) or _visiting_program(request, service)
    return visitor is not None and visitor.caller.may("read")


VisitorHere = Annotated[Visitor, Depends(visitor_of)]


def _reader(visitor: VisitorHere) -> Visitor:
    refuse_unless(visitor.caller, "read")
    return visitor


ReaderHere = Annotated[Visitor, Depends(_reader)]


async def form_of(request: Request) -> dict[str, str]:
    """Reads the fields of a form. Raises Refusal for forms of other sites and for other content."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise Refusal(415, "unknown content type", "this address takes the form of a page here")
    origin = request.headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != request.headers.get("host"):
        raise Refusal(403, "another site's form", "this form was sent from another site: use the page here")
    try:
        fields = parse_qsl(
            (await request.body()).decode(), keep_blank_values=True, max_num_fields=_MOST_FIELDS
        )
    except ValueError:
        raise Refusal(422, "no form", "the form cannot be read: use the page here") from None
    if any("\0" in name + value for name, value in fields):
        raise Refusal(422, "no form", "a field holds a NUL character")
    return dict(fields)


FormHere = Annotated[dict[str, str], Depends(form_of)]


def require_form_token() -> Any:
    """Returns a dependency that checks a form and gives its visitor.

    It refuses visitors who are not signed in or lack the right, and forms of another session.
    """

    async def checked(request: Request, service: ServiceHere, form: FormHere) -> Visitor:
        visitor = await run_in_threadpool(visitor_of, request, service)
        if not visitor.signed_in:
            raise Refusal(
                401, "sign in first", "writing needs a token: sign in with yours, then do this again"
            )
        refuse_without_right(visitor.caller, operation_of(request))
        if not secrets.compare_digest(form.get(FORM_FIELD, "").encode(), visitor.form_token.encode()):
            raise Refusal(
                403, "stale form", "the form belongs to another session: reload the page and send it again"
            )
        return visitor

    return Depends(checked)


def own_address(path: str | None) -> str:
    """Returns the path if it is on this site, else the home page. Prevents open redirects."""
    if path is None or not path.startswith("/") or path.startswith(("//", "/\\")) or not path.isprintable():
        return "/"
    return path
