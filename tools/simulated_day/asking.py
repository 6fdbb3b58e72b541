"""Clients that write down what each request took, and processes that have many of them."""

import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cliffwatch_runner.upload.client import Client, Reply

_KINDS = tuple(
    (re.compile(pattern), kind)
    for pattern, kind in (
        (r"PUT /runs/[^/]+/boots/\d+/raw", "upload of raw outputs"),
        (r"PUT /runs/[^/]+/boots/\d+", "upload of a boot"),
        (r"PUT /runs/[^/]+", "upload of run.json"),
        (r"GET /runs/[^/]+", "what the service has of a run"),
        (r"POST /offers", "offer"),
        (r"POST /leases/[^/]+/heartbeat", "heartbeat"),
        (r"POST /leases/[^/]+/events", "events of a job"),
        (r"POST /leases/[^/]+/complete", "end of a job"),
        (r"POST /requests", "request of a push"),
    )
)


def kind_of(method: str, path: str) -> str:
    """What a request of a worker is for."""
    return next(
        (kind for pattern, kind in _KINDS if pattern.fullmatch(f"{method} {path}")), f"{method} {path}"
    )


class Record:
    """What was asked: kind, milliseconds, and the status, 0 where no answer came. Written to a file at the
    end.
    """

    def __init__(self) -> None:
        self.rows: list[tuple[str, float, int]] = []

    def add(self, kind: str, began: float, status: int) -> None:
        self.rows.append((kind, (time.perf_counter() - began) * 1000, status))

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(self.rows))


class TimedClient(Client):
    """The runner's own client; its retries count as one request."""

    def __init__(self, url: str, token: str, record: Record) -> None:
        super().__init__(url, token)
        self._record = record

    def get(self, path: str, **params: Any) -> Reply:
        return self._timed("GET", path, lambda: super(TimedClient, self).get(path, **params))

    def post(self, path: str, content: Any, *, key: str | None = None) -> Reply:
        return self._timed("POST", path, lambda: super(TimedClient, self).post(path, content, key=key))

    def put(self, path: str, content: bytes, kind: str = "application/json") -> Reply:
        return self._timed("PUT", path, lambda: super(TimedClient, self).put(path, content, kind))

    def _timed(self, method: str, path: str, ask: Callable[[], Reply]) -> Reply:
        began = time.perf_counter()
        reply = ask()
        self._record.add(kind_of(method, path), began, reply.status)
        return reply
