"""Exchanges the identity (OIDC) that GitHub signs for this job for a token of a Cliffwatch service.

Stores nothing.
"""

import os
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import httpx2

from cliffwatch.failure import Failure, wrong_usage
from cliffwatch.formats.reading import convert_to
from cliffwatch_runner import clock
from cliffwatch_runner.upload.answers import GivenToken
from cliffwatch_runner.upload.client import Answered, Client, Patience, Reply

_ADDRESS, _SECRET = "ACTIONS_ID_TOKEN_REQUEST_URL", "ACTIONS_ID_TOKEN_REQUEST_TOKEN"
_TIMEOUT = httpx2.Timeout(30.0, connect=10.0)
_TRIES = 4
_FIRST_WAIT = 2.0
_LONGEST = 8192

NO_TOKEN = wrong_usage(
    "there is no token for the service",
    "give the publishing job `id-token: write`, its caller too, or the secret service-token (docs/github.md)",
)


@dataclass(frozen=True, slots=True)
class IdentityRequest:
    """The URL at which a job requests its identity from GitHub, and the secret for the request."""

    address: str
    secret: str = field(repr=False)


def read_identity_request() -> IdentityRequest | None:
    """Takes the runner's variables for identity requests out of the environment.

    Returns None if the job does not have `id-token: write`.
    """
    address, secret = (os.environ.pop(name, "") for name in (_ADDRESS, _SECRET))
    return IdentityRequest(address, secret) if address and secret else None


def job_token(
    service: str, signing: IdentityRequest, *, fork: bool, sleep: Callable[[float], object] = clock.pause
) -> str | Failure:
    """Returns a service token that can upload for this job's repository for 15 minutes.

    Each try requests a new identity: the service accepts an identity only once, and its answer to an earlier
    try may have been lost.
    """
    given: str | Failure = NO_TOKEN
    for attempt in range(_TRIES):
        if attempt:
            sleep(_FIRST_WAIT * 2 ** (attempt - 1))
        identity = _identity(signing, service.rstrip("/"))
        given = (
            identity if isinstance(identity, Failure) else _exchange_identity(service, identity, fork=fork)
        )
        if isinstance(given, str) or given.whose == "usage":
            return given
    return given


def _identity(signing: IdentityRequest, audience: str) -> str | Failure:
    """Requests an identity for this audience only, so a leaked identity is useless at another service."""
    try:
        address = httpx2.URL(signing.address).copy_merge_params({"audience": audience})
        headers = {"Authorization": f"Bearer {signing.secret}", "User-Agent": "cliffwatch"}
        response = httpx2.get(address, headers=headers, timeout=_TIMEOUT, follow_redirects=False)
        content: Any = response.json() if response.is_success else None
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
        return _unsigned(str(error) or type(error).__name__)
    value = content.get("value") if isinstance(content, dict) else None
    if isinstance(value, str) and 0 < len(value) <= _LONGEST:
        return value
    return _unsigned(f"it answers {response.status_code}" + (" without one" if response.is_success else ""))


def _exchange_identity(service: str, identity: str, *, fork: bool) -> str | Failure:
    with closing(Client(service, None, patience=Patience(tries=1))) as client:
        reply = client.post("/github/token", {"identity": identity, "fork": fork})
    given = convert_to(reply.body, GivenToken) if isinstance(reply, Answered) else None
    if isinstance(given, GivenToken):
        return given.secret
    return _explain_refusal(service, reply)


def _explain_refusal(service: str, reply: Reply) -> Failure:
    if isinstance(reply, Answered):
        return _failure(f"{service} answers without a token", "look at the service's address", "usage")
    if reply.is_temporary:
        said = f"the service cannot be asked for a token: {reply.message}"
        return _failure(said, "start the job again later", "host")
    return _failure(f"the service gives this job no token: {reply.message}", _STORE, "usage")


_STORE = "docs/github.md says what the service's operator sets; a stored secret service-token goes without"


def _unsigned(why: str) -> Failure:
    return _failure(f"GitHub signs no identity for this job: {why}", "start the job again later", "host")


def _failure(message: str, next_step: str, whose: Any) -> Failure:
    return Failure(whose=whose, message=message, next_step=next_step)
