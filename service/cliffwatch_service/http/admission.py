"""Admits or refuses a request by its headers alone: authentication, rate limit and rights.

The body is not read before that, so only token holders can make the service decompress and parse. A private
service reveals nothing to strangers, not even which URLs exist.
"""

import re
from collections.abc import Callable

import psycopg
from psycopg_pool import PoolTimeout
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from cliffwatch_service.access.tokens import refuse_unless
from cliffwatch_service.http.addresses import address_of
from cliffwatch_service.http.bodies import WRITING, TrackedReceive, drain
from cliffwatch_service.http.context import PREFIX, Service, caller_of_request, too_many
from cliffwatch_service.refusal import Refusal

ALWAYS_OPEN = ("/healthz", "/readyz")
"""Health checks for monitors. They need no token even on a private service."""

WEBHOOKS = f"{PREFIX}/github/webhook"
"""Endpoint for GitHub's webhooks. The signature of the body authenticates the sender, not a token."""

JOB_TOKENS = f"{PREFIX}/github/token"
"""Where a GitHub Actions job exchanges its signed identity (OIDC) for a token."""

_SIGNATURE = re.compile(r"sha256=[0-9a-f]{64}")

_OF_SIGNING_IN = ("/sign-in", "/sign-out", "/favicon.ico", "/static/")


class Admission:
    """ASGI middleware that authenticates requests.

    - `for_programs`: path prefixes that take tokens; all other paths take cookies.
    - `of_uploads`: whether a path accepts bodies from uploaders only.
    - `signed_in`: whether a request's cookie is valid.
    - `refused`: makes the response to a refusal: a problem document or a page, depending on the path.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        service: Service,
        for_programs: tuple[str, ...],
        of_uploads: Callable[[str], bool],
        signed_in: Callable[[Request], bool],
        refused: Callable[[Request, Refusal], Response],
    ) -> None:
        self._app, self._service, self._for_programs = app, service, for_programs
        self._of_uploads, self._signed_in, self._refused = of_uploads, signed_in, refused

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        try:
            await self._admit(request)
        except Refusal as refusal:
            await self._answer(request, refusal, receive, send)
        except (psycopg.Error, PoolTimeout):
            away = Refusal(
                503, "database away", "the database is not reachable: send the request again later"
            )
            await self._answer(request, away, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _answer(self, request: Request, refusal: Refusal, receive: Receive, send: Send) -> None:
        if request.method in WRITING:
            await drain(once := TrackedReceive(receive))
            receive = once
        response = await run_in_threadpool(self._refused, request, refusal)
        await response(request.scope, receive, send)

    async def _admit(self, request: Request) -> None:
        path, writing = request.url.path, request.method in WRITING
        private = not self._service.settings.public_reading
        if path == WEBHOOKS and request.method == "POST":
            self._admit_webhook(request)
            return
        if path == JOB_TOKENS and request.method == "POST":
            self._admit_job(request)
            return
        if path in ALWAYS_OPEN and not writing:
            return
        if path.startswith(self._for_programs):
            if writing or private:
                await self._admit_program(request, upload=writing and self._of_uploads(path))
            return
        if (
            private
            and not path.startswith(_OF_SIGNING_IN)
            and not await run_in_threadpool(self._signed_in, request)
        ):
            raise Refusal(401, "sign in first", "this service is private: sign in with a token")
        if writing:
            self._admit_form(request)

    async def _admit_program(self, request: Request, *, upload: bool) -> None:
        caller = await run_in_threadpool(caller_of_request, request, self._service)
        if upload or caller.token_id is None:
            refuse_unless(caller, "upload" if request.method in WRITING else "read")
        request.state.caller = caller

    def _admit_webhook(self, request: Request) -> None:
        """Refuses a webhook that is compressed or whose headers show that GitHub did not send it."""
        if not self._service.rates.allow(f"webhooks of {address_of(request.scope)}", self._service.now()):
            raise too_many()
        if not _SIGNATURE.fullmatch(request.headers.get("x-hub-signature-256", "")):
            raise Refusal(
                401,
                "no signature",
                "the header X-Hub-Signature-256 is missing or invalid: give the App a webhook secret",
            )
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json" or request.headers.get("content-encoding"):
            raise Refusal(415, "no JSON", "send webhooks as application/json, without compression")

    def _admit_job(self, request: Request) -> None:
        """Counts attempts with identities like guesses of tokens. Refuses compressed identities."""
        if not self._service.rates.allow(f"guess {address_of(request.scope)}", self._service.now()):
            raise too_many()
        if request.headers.get("content-encoding"):
            raise Refusal(415, "unknown encoding", "send the identity without compression")

    def _admit_form(self, request: Request) -> None:
        """Limits forms per address. Refuses compressed forms, because these callers have no token."""
        if not self._service.rates.allow(f"form of {address_of(request.scope)}", self._service.now()):
            raise too_many()
        if request.headers.get("content-encoding"):
            raise Refusal(415, "unknown encoding", "send the form without compression")
