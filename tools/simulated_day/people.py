"""Who pushes, and who looks: requests as a push's workflow sends them, pages as browsers read them."""

import random
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import httpx2

from cliffwatch_runner.upload.client import Answered
from simulated_day.asking import Record, TimedClient
from simulated_day.day import Push, View

FOLLOWED_TREE, OTHER_TREE = "linux", "developers"
SUITES = ("local-storage",)
AT_ONCE = 8


@dataclass(slots=True)
class Asked:
    """Requests that were made, the oldest first: their identity, base and head."""

    rows: list[tuple[str, str, str]] = field(default_factory=list)


def commits_of(push: Push, followed: Sequence[str]) -> tuple[str, str]:
    return (followed[push.number], followed[push.number + 1]) if push.followed else push.commits


def ask(client: TimedClient, push: Push, git_url: str, followed: Sequence[str], asked: Asked) -> None:
    base, head = commits_of(push, followed)
    body = {
        "tree": f"{git_url}/{FOLLOWED_TREE if push.followed else OTHER_TREE}",
        "base": base,
        "head": head,
        "targets": [{"platform": platform, "mode": mode} for platform, mode in push.targets],
        "suites": list(SUITES),
        "priority": "push",
    }
    reply = client.post("/requests", body, key=f"{base} {head}")
    if isinstance(reply, Answered):
        asked.rows.append((reply.body["request"], base, head))


class Reader:
    """Browsers, and programs that wait for a push. They share their connections: a client for each would cost
    more than its answer.
    """

    def __init__(self, url: str, record: Record, asked: Asked) -> None:
        self._http = httpx2.Client(base_url=url, trust_env=False, timeout=60, follow_redirects=True)
        self._record, self._asked = record, asked
        self._drawn = random.Random(2)
        self._series: list[str] = []
        self._runs: list[str] = []

    def look(self, kind: str) -> None:
        path = self._path(kind)
        if path is None:
            return
        began = time.perf_counter()
        answer = self._http.get(path, headers={"Accept-Encoding": "gzip"})
        self._record.add(
            f"page: {kind}" if "/api/" not in path else f"read: {kind}", began, answer.status_code
        )

    def _path(self, kind: str) -> str | None:
        """None where there is nothing to look at yet."""
        plain = {"home": "/", "regressions": "/regressions", "jobs": "/jobs"}.get(kind)
        if plain is not None:
            return plain
        if kind in ("series", "history"):
            return self._of_series(kind)
        if kind == "run":
            if not self._runs or self._drawn.random() < 0.1:
                items = self._http.get("/api/v1/runs", params={"limit": 50}).json()["items"]
                self._runs = [row["run"] for row in items]
            return f"/runs/{self._drawn.choice(self._runs)}" if self._runs else None
        if not self._asked.rows:
            return None
        # People look at what is new; the newest few are not measured yet.
        request, base, head = self._drawn.choice(self._asked.rows[-60:])
        if kind == "request":
            return f"/api/v1/requests/{request}"
        return f"/compare/{base}...{head}" if kind == "compare" else f"/api/v1/comparisons/{base}...{head}"

    def _of_series(self, kind: str) -> str | None:
        if not self._series:
            items = self._http.get("/api/v1/series", params={"limit": 40}).json()["items"]
            self._series = [row["series"] for row in items]
        if not self._series:
            return None
        one = self._drawn.choice(self._series)
        return f"/series/{one}" if kind == "series" else f"/api/v1/series/{one}/history"


def carry_out(events: Sequence[tuple[float, Callable[[], Any]]], ratio: float) -> float:
    """Does each thing at its second of the day, or as soon after it as there is somebody free; how late it
    was at most.
    """
    latest = 0.0
    began = time.monotonic()

    def do(second: float, thing: Callable[[], Any]) -> None:
        nonlocal latest
        latest = max(latest, time.monotonic() - began - second / ratio)
        thing()

    with ThreadPoolExecutor(AT_ONCE) as pool:
        done = []
        for second, thing in sorted(events, key=lambda event: event[0]):
            time.sleep(max(0.0, began + second / ratio - time.monotonic()))
            done.append(pool.submit(do, second, thing))
        for each in done:
            each.result()
    return latest


def events_of(
    pushes: Sequence[Push], views: Sequence[View], push: Callable[[Push], Any], look: Callable[[str], Any]
) -> list[tuple[float, Callable[[], Any]]]:
    return [
        *((each.second, lambda each=each: push(each)) for each in pushes),
        *((each.second, lambda each=each: look(each.kind)) for each in views),
    ]


def platforms(hosts: Sequence[tuple[str, str, str]]) -> Mapping[tuple[str, str], int]:
    """How many hosts there are of each platform and mode."""
    found: dict[tuple[str, str], int] = {}
    for _, platform, mode in hosts:
        found[platform, mode] = found.get((platform, mode), 0) + 1
    return found
