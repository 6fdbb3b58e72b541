"""The stand-in as a real HTTP server."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import jwt
import uvicorn
from listening import listening, port_of
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from github_stand_in import apps, comments, issues, repositories  # noqa: F401 - they enter their answers
from github_stand_in.answers import Answer, Caller, Question, answer, refused
from github_stand_in.description import Asked, description
from github_stand_in.faults import Fault, Faults
from github_stand_in.kept import Kept

_METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"]
_HOURLY = 5000


@dataclass
class StandIn:
    """A running stand-in. `violations` are requests that GitHub's description does not allow: a test fails
    that leaves any (`stand_in` sees to it). `requests` are method and path of all that came, in order.
    """

    kept: Kept
    faults: Faults = field(default_factory=Faults)
    violations: list[str] = field(default_factory=list)
    requests: list[tuple[str, str]] = field(default_factory=list)
    url: str = ""

    async def serve(self, request: Request) -> Response:
        asked = Asked(
            method=request.method,
            path=request.scope["raw_path"].decode(),
            query=request.url.query,
            headers={name.lower(): value for name, value in request.headers.items()},
            body=await request.body(),
        )
        if asked.path.startswith("/_files/"):
            return self._file(asked)
        with self.kept.lock:
            given, fault = self._answered(asked)
        if fault is not None and fault.kind in ("dropped", "lost", "silent"):
            return _NoAnswer(silent=fault.kind == "silent")
        headers = {**self._limit(fault), **given.headers}
        if given.status in (204, 302):
            return Response(status_code=given.status, headers=headers)
        return JSONResponse(given.content, given.status, headers)

    def _answered(self, asked: Asked) -> tuple[Answer, Fault | None]:
        self.requests.append((asked.method, asked.path))
        moved = self._moved(asked)
        if moved is not None:
            return moved, None
        read, wrong = description().read(asked)
        if read is None:
            self.violations += wrong
            return refused(404, "Not Found"), None
        fault = self.faults.of(read.operation.name)
        if fault is not None and fault.kind != "lost":
            return self._faulty(fault), fault
        self.violations += wrong
        if wrong:
            return refused(422, "Invalid request.", errors=wrong), fault
        caller = self._caller(asked.headers.get("authorization", ""))
        if isinstance(caller, Answer):
            return caller, fault
        question = Question(self.kept, description(), read, caller, self.url, f"{self.url}{asked.path}")
        return answer(question), fault

    def _moved(self, asked: Asked) -> Answer | None:
        """GitHub sends readers of a renamed repository to its new address, and does nothing there for those
        who write.
        """
        for before, name in self.kept.renamed.items():
            if asked.path.startswith(f"/repos/{before}/") and before not in self.kept.repositories:
                address = f"{self.url}/repos/{name}/{asked.path.removeprefix(f'/repos/{before}/')}"
                location = f"{address}?{asked.query}" if asked.query else address
                return Answer(
                    301 if asked.method == "GET" else 307, {"message": "Moved"}, {"location": location}
                )
        return None

    def _faulty(self, fault: Fault) -> Answer:
        wait = {"retry-after": str(fault.seconds)}
        if fault.kind == "secondary":
            message = (
                "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
            )
            return Answer(403, refused(403, message).content, wait)
        if fault.kind == "too-many":
            return Answer(429, refused(429, "Too Many Requests").content, wait)
        if fault.kind == "primary":
            return refused(403, "API rate limit exceeded for installation.")
        return refused(int(fault.kind) if fault.kind.isdigit() else 500, "Server Error")

    def _limit(self, fault: Fault | None) -> dict[str, str]:
        used_up = fault is not None and fault.kind == "primary"
        reset = self.kept.now() + (fault.seconds if fault is not None and used_up else 3600)
        return {
            "x-ratelimit-limit": str(_HOURLY),
            "x-ratelimit-remaining": "0" if used_up else str(_HOURLY - 1),
            "x-ratelimit-reset": str(int(reset)),
            "x-github-request-id": "0000:0000",
        }

    def _caller(self, authorization: str) -> Caller | Answer:
        kind, _, secret = authorization.partition(" ")
        if not secret:
            return Caller()
        if secret.count(".") == 2:
            return self._app(secret)
        token = self.kept.tokens.get(secret)
        if kind.lower() not in ("token", "bearer") or token is None or token.expires <= self.kept.now():
            return refused(401, "Bad credentials")
        installation = self.kept.installations.get(token.installation or 0)
        if installation is not None and installation.revoked:
            return refused(401, "Bad credentials")
        if installation is not None and installation.suspended:
            return refused(403, "This installation has been suspended")
        return Caller(token=token)

    def _app(self, secret: str) -> Caller | Answer:
        app = self.kept.app
        try:
            checked = {
                "verify_signature": app.public_key is not None,
                "verify_exp": False,
                "verify_iat": False,
            }
            claims = jwt.decode(secret, app.public_key or "", algorithms=["RS256"], options=checked)  # type: ignore[arg-type]
            issued, expires = float(claims["iat"]), float(claims["exp"])
        except (jwt.PyJWTError, KeyError, ValueError):
            return refused(401, "A JSON web token could not be decoded")
        now = self.kept.now()
        if expires <= now:
            return refused(
                401,
                "'Expiration time' claim ('exp') must be a numeric value representing the future time at"
                " which the assertion expires",
            )
        if expires - now > 600 or issued > now + 60:
            return refused(401, "'Expiration time' claim ('exp') is too far in the future")
        if str(claims.get("iss")) != str(app.identity):
            return refused(404, "Integration not found")
        return Caller(app=True)

    def _file(self, asked: Asked) -> Response:
        """Where GitHub sends those who download an artifact; they must not bring their token."""
        if "authorization" in asked.headers:
            self.violations.append("a token was sent to the storage of artifacts")
        identity = int(asked.path.rpartition("/")[2])
        for repository in self.kept.repositories.values():
            if identity in repository.artifacts:
                return Response(repository.artifacts[identity][2], media_type="application/zip")
        return Response(status_code=404)


class _NoAnswer(Response):
    """An answer that never comes whole: it breaks off at once, or nothing comes until the client has had
    enough.
    """

    def __init__(self, *, silent: bool) -> None:
        super().__init__()
        self.silent = silent

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if self.silent:
            while (await receive())["type"] != "http.disconnect":
                pass
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"1000")]})


@contextmanager
def stand_in(now: Callable[[], float]) -> Iterator[StandIn]:
    """Starts a stand-in on a free port, whose clock is `now` (seconds since the epoch). At the end it holds
    that every request was one that the description allows.
    """
    description()
    running = StandIn(Kept(now))
    app = Starlette(routes=[Route("/{path:path}", running.serve, methods=_METHODS)])
    config = uvicorn.Config(app, port=0, log_level="critical", lifespan="off", access_log=False)
    with listening(config) as server:
        running.url = f"http://127.0.0.1:{port_of(server)}"
        try:
            yield running
        finally:
            server.force_exit = True
    assert not running.violations, "\n".join(running.violations)
