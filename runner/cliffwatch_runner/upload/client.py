"""Talks to the service over HTTP. No other module of the runner does."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import httpx2
import zstandard

from cliffwatch.counting import format_duration, size_text
from cliffwatch.failure import HttpFailure
from cliffwatch.formats.reading import convert_to
from cliffwatch.formats.values import Part
from cliffwatch.parsers.readings import Problem
from cliffwatch_runner import clock

PREFIX = "/api/v1"
_TIMEOUT = httpx2.Timeout(60.0, connect=10.0)
_LONGEST_WAIT = 900.0
_LARGEST_ANSWER = 64 << 20
_LONGEST_ANSWER = 120.0
"""Seconds for the body of an answer."""


class _Problem(Part, frozen=True, kw_only=True):
    """The members of a problem document that are read."""

    title: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    status: int
    body: Any


Reply = Answered | HttpFailure
"""A failure is temporary if the service is unreachable or too busy, and lasting if it refuses the request."""


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
        reply: Reply = unreached("not tried")
        for attempt in range(1, self._patience.tries + 1):
            if isinstance(reply, HttpFailure) and attempt > 1:
                self._sleep(max(self._patience.before(attempt - 1), reply.wait))
            reply = self._try(method, path, **more)
            if isinstance(reply, Answered) or not reply.is_temporary or reply.wait > self._patience.longest:
                break
        return reply

    def _try(self, method: str, path: str, **more: Any) -> Reply:
        address = PREFIX + quote(path, safe="/.?=&")
        try:
            with self._http.stream(method, address, **more) as response:
                content = _whole_answer(response)
        except (httpx2.InvalidURL, httpx2.UnsupportedProtocol) as error:
            return HttpFailure(
                whose="usage", message=f"{self.url!r} is no address: {error}", next_step="check the URL"
            )
        except httpx2.RequestError as error:
            return unreached(f"{self.url}: {error or type(error).__name__}")
        if content is None:
            return unreached(
                f"{self.url} sends more than {size_text(_LARGEST_ANSWER)}, or for longer than"
                f" {format_duration(_LONGEST_ANSWER)}"
            )
        return self._read(response, content)

    def _read(self, response: httpx2.Response, content: bytes) -> Reply:
        status = response.status_code
        try:
            body = json.loads(content) if content else None
        except (ValueError, RecursionError):
            if response.is_success:
                return unreached(
                    f"{self.url} answers {status} without JSON: it may be another service: check the URL"
                )
            body = None
        if response.is_success:
            return Answered(status=status, body=body)
        if response.is_redirect:
            return HttpFailure(
                whose="usage",
                message=f"{self.url} redirects to {response.headers.get('Location', 'nowhere')[:300]!r}",
                next_step="give the address of the service itself",
                status=status,
            )
        problem = convert_to(body, _Problem)
        if isinstance(problem, Problem):
            said = content[:300].decode(errors="replace").strip()
            problem = _Problem(title=response.reason_phrase, detail=said or f"it answers {status}")
        if status in (408, 429) or status >= 500:
            said = f"{self.url}: {problem.title}: {problem.detail}"
            return unreached(said, status=status, wait=_wait(response))
        return HttpFailure(
            whose="usage",
            message=problem.detail,
            next_step="correct the request and send it again",
            evidence=problem.title,
            status=status,
        )


def _whole_answer(response: httpx2.Response) -> bytes | None:
    """Returns the body; None if it is too large or takes too long."""
    began, parts, total = clock.monotonic(), list[bytes](), 0
    for part in response.iter_bytes():
        parts.append(part)
        total += len(part)
        if total > _LARGEST_ANSWER or clock.monotonic() - began > _LONGEST_ANSWER:
            return None
    return b"".join(parts)


def unreached(reason: str, *, status: int = 0, wait: float = 0.0) -> HttpFailure:
    """The service did not handle the request. `wait` is its Retry-After in seconds, at most 15 minutes."""
    return HttpFailure(
        whose="host", message=reason, next_step="try again when the service answers", status=status, wait=wait
    )


def _wait(response: httpx2.Response) -> float:
    """Returns the seconds of Retry-After.

    Its date form is ignored, because the clocks of two machines differ.
    """
    text = response.headers.get("Retry-After", "")
    if not text.isascii() or not text.isdecimal():
        return 0.0
    return min(_LONGEST_WAIT, float(text[:9]))
