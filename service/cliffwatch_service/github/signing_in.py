"""Sign-in of people by GitHub's web flow (OAuth with PKCE): who may triage signs in without a token.

Only the accounts of the settings may. They are named by number, because a login that was given up may become
somebody else's. GitHub is asked for no rights, and its token is forgotten once it has said whose it is.
"""

import hashlib
import secrets
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar
from urllib.parse import urlencode

from psycopg import Connection

from cliffwatch.failure import HttpFailure
from cliffwatch_service.access.tokens import Caller, load_signed_in_caller
from cliffwatch_service.github.calling import GitHub, Reply
from cliffwatch_service.ingest.free_form import plain_text
from cliffwatch_service.refusal import Refusal
from cliffwatch_service.runtime.settings import Settings
from cliffwatch_service.store import tokens
from cliffwatch_service.store.github.job_tokens import keep_person

CALLBACK = "/sign-in/github/callback"
_Member = TypeVar("_Member", str, int)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """A sign-in that was begun. The browser keeps it in a signed cookie until GitHub sends it back."""

    state: str
    """Comes back with the code, which shows that this browser began the sign-in."""
    verifier: str
    """PKCE: GitHub gives a token for the code only to who has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """An account of GitHub. Its number never changes and is never given to another."""

    number: int
    login: str


def begin_attempt() -> Attempt:
    return Attempt(state=secrets.token_urlsafe(24), verifier=secrets.token_urlsafe(48))


def authorize_url(settings: Settings, attempt: Attempt) -> str:
    """Returns GitHub's page that asks the person."""
    challenge = urlsafe_b64encode(hashlib.sha256(attempt.verifier.encode()).digest()).rstrip(b"=")
    asked = {
        "client_id": settings.github_client_id,
        "redirect_uri": _callback(settings),
        "state": attempt.state,
        "code_challenge": challenge.decode(),
        "code_challenge_method": "S256",
        "allow_signup": "false",
    }
    return f"{settings.github_web}/login/oauth/authorize?{urlencode(asked)}"


def account_of_code(github: GitHub, settings: Settings, code: str, attempt: Attempt) -> Account:
    """Exchanges a code for the account that allowed the sign-in. Raises Refusal."""
    assert settings.github_client_id is not None
    assert settings.github_client_secret is not None
    asked = {
        "client_id": settings.github_client_id,
        "client_secret": settings.github_client_secret.get_secret_value(),
        "code": code,
        "redirect_uri": _callback(settings),
        "code_verifier": attempt.verifier,
    }
    token = _member(github.exchange_code(settings.github_web, asked), "access_token", str)
    reply = github.as_person(token, "GET", "/user")
    login = _member(reply, "login", str)
    return Account(number=_member(reply, "id", int), login=plain_text(login)[:100])


def _callback(settings: Settings) -> str:
    return settings.pages_url.rstrip("/") + CALLBACK


def _member(reply: Reply, name: str, kind: type[_Member]) -> _Member:
    """Returns a member of GitHub's answer. Raises Refusal if GitHub refused or answered something else."""
    if isinstance(reply, HttpFailure):
        raise _not_done(reply.message)
    body = reply.body if isinstance(reply.body, dict) else {}
    value = body.get(name)
    if type(value) is not kind:
        raise _not_done(plain_text(str(body.get("error_description") or f"its answer has no {name}"))[:300])
    return value


def _not_done(reason: str) -> Refusal:
    return Refusal(502, "GitHub did not sign you in", f"GitHub says: {reason}. Sign in again or use a token")


def sign_in_person(
    connection: Connection[Any], settings: Settings, account: Account, now: datetime
) -> Caller:
    """Returns the caller that an account acts as: of scope `triage`, under a token that nobody holds.

    Raises Refusal if the settings do not name the account, or an operator revoked its token.
    """
    if account.number not in settings.github_triagers:
        raise Refusal(
            403,
            "account not listed",
            f"GitHub's account {account.login} may not sign in here:"
            f" ask the operator to add {account.number} to CLIFFWATCH_GITHUB_TRIAGERS",
        )
    name = f"github-user:{account.login}"
    person = keep_person(connection, account.number, name, now)
    if person is None:
        raise Refusal(
            409, "name taken", f"there is another token {name!r}: ask the service's operator for a token"
        )
    caller = load_signed_in_caller(connection, person, now)
    detail = {"account": account.number, "login": account.login}
    tokens.write_audit(
        connection, who=caller.name, action="github-sign-in", what=caller.name, detail=detail, now=now
    )
    return caller
