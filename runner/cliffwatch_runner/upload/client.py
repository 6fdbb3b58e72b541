"""Talks to the service over HTTP. No other module of the runner does."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import httpx2
import zstandard

from cliffwatch.formats.reading import convert_to
from cliffwatch.formats.values import Part
from cliffwatch.parsers.readings import Problem

PREFIX = "/api/v1"
_TIMEOUT = httpx2.Timeout(60.0, connect=10.0)
_LONGEST_WAIT = 900.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreached:
    """The service did not handle the request: it is unreachable or too busy."""

    reason: str
    """Why the last attempt failed."""

    wait: float = 0.0
    """Seconds that the service asks to wait (Retry-After, at most 15 minutes); 0 if it asks for none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """The service refused the request."""

    status: int
    title: str
    detail: str
    """What is wrong and what to do."""


class _Problem(Part, frozen=True, kw_only=True):
    """The members of a problem document that are read."""

    title: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    status: int
    body: Any


Reply = Answered | Refused | Unreached


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """Retries of a request."""

    tries: int = 5
    """Maximum number of attempts."""

    first: float = 0.5
    """Seconds before the second attempt. Each further pause doubles."""

    longest: float = 30.0
    """Maximum pause in seconds. If the service asks for a longer one, the caller decides when to retry."""

    def before(self, attempt: int) -> float:
        return min(self.longest, self.first * 2.0 ** (attempt - 1))


class Client:
    """Sends requests to one service and retries those that fail on the way.

    All of them are safe to repeat.
    """

    def __init__(
        self,
        url: str,
        token: str | None,
        *,
        patience: Patience | None = None,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        headers = {"User-Agent": "cliffwatch", **({"Authorization": f"Bearer {token}"} if token else {})}
        self.url = url.rstrip("/")
        self._http = httpx2.Client(base_url=self.url, headers=headers, timeout=_TIMEOUT, trust_env=False)
        self._patience = patience or Patience()
        self._sleep = sleep

    def get(self, path: str, **params: Any) -> Reply:
        return self._send(
            "GET", path, params={name: value for name, value in params.items() if value is not None}
        )

    def post(self, path: str, content: Any, *, key: str | None = None) -> Reply:
        """`key` is an idempotency key: a request with one can be repeated but is carried out only once."""
        return self._send("POST", path, json=content, headers={"Idempotency-Key": key} if key else {})

    def put(self, path: str, content: bytes, kind: str = "application/json") -> Reply:
        packed = zstandard.ZstdCompressor().compress(content)
        return self._send(
            "PUT", path, content=packed, headers={"Content-Type": kind, "Content-Encoding": "zstd"}
        )

    def close(self) -> None:
        self._http.close()

    def _send(self, method: str, path: str, **more: Any) -> Reply:
        reply: Reply = Unreached(reason="not tried")
        for attempt in range(1, self._patience.tries + 1):
            if isinstance(reply, Unreached) and attempt > 1:
                self._sleep(max(self._patience.before(attempt - 1), reply.wait))
            reply = self._try(method, path, **more)
            if not isinstance(reply, Unreached) or reply.wait > self._patience.longest:
                break
        return reply

    def _try(self, method: str, path: str, **more: Any) -> Reply:
        try:
            response = self._http.request(method, PREFIX + quote(path, safe="/.?=&"), **more)
        except (httpx2.RequestError, httpx2.InvalidURL) as error:
            return Unreached(reason=f"{self.url}: {error or type(error).__name__}")
        reply = _reply(response)
        if reply is None:
            return Unreached(
                reason=f"{self.url} answers {response.status_code} without JSON: it is another service"
            )
        if isinstance(reply, Refused) and (reply.status in (408, 429) or reply.status >= 500):
            return Unreached(reason=f"{self.url}: {reply.title}: {reply.detail}", wait=_wait(response))
        return reply


def _reply(response: httpx2.Response) -> Answered | Refused | None:
    """Returns the content of a response; None for a success whose body is not JSON."""
    try:
        body = response.json() if response.content else None
    except ValueError:
        if response.is_success:
            return None
        body = None
    if response.is_success:
        return Answered(status=response.status_code, body=body)
    problem = convert_to(body, _Problem)
    if isinstance(problem, Problem):
        problem = _Problem(title=response.reason_phrase, detail=response.text[:300])
    return Refused(status=response.status_code, title=problem.title, detail=problem.detail)


def _wait(response: httpx2.Response) -> float:
    """Returns the seconds of Retry-After.

    Its date form is ignored, because the clocks of two machines differ.
    """
    text = response.headers.get("Retry-After", "")
    if not text.isascii() or not text.isdecimal():
        return 0.0
    return min(_LONGEST_WAIT, float(text[:9]))
