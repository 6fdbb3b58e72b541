"""Throws broken requests at a service of its own and counts the answers: none may be a server error.

    tools/fuzz_api.py [REQUESTS] [SEED]

It begins with requests that are good (a run, its boots, a request, offers, leases, triage, tokens, reads of all that) and
breaks each in one to three places: addresses, queries, headers, encodings, and values of JSON bodies anywhere. Every answer
must be below 500 and, from 400 on, a problem document. At the end nothing may be stored half: every boot has its document.
"""

import asyncio
import collections
import copy
import gzip
import json
import random
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from load.served import Served, served
from service_runs import boots_of, commit_of, put_all, record_of, run_of

STRINGS = [
    "", " ", "\0", "a\0b", "'; DROP TABLE run; --", "<script>alert(1)</script>", "%s%n%x", "../../../etc/passwd", "\ud800".encode("utf-16", "surrogatepass").decode("utf-16", "replace"),
    "x" * 300, "x" * 70_000, "🐝" * 60, "NaN", "1e400", "-0", "null", "true", "0" * 32, "f" * 32, "0" * 40, "f" * 40, "2026-11-21T12:00:00Z",
    "9999-12-31T23:59:59.999999+14:00", "0001-01-01T00:00:00-14:00", "2026-13-45", "00000000-0000-0000-0000-000000000000", "walltime", "icount", "nearest", "\u202e", "a/b", "a?b#c", "%00", "%ff", "\\u0000",
]  # fmt: skip
NUMBERS = [
    0,
    -1,
    1,
    2**31 - 1,
    2**31,
    2**63 - 1,
    2**63,
    2**64,
    -(2**63) - 1,
    10**400,
    0.1,
    -0.0,
    1e308,
    5e-324,
]
VALUES: list[Any] = [
    None,
    True,
    False,
    [],
    {},
    [[]],
    {"": ""},
    {"a": {"a": {"a": []}}},
    [None] * 50,
    *NUMBERS,
    *STRINGS,
]
AT_ONCE = 16


class Fuzzer:
    """Breaks good requests, by a generator of its own."""

    def __init__(self, service: Served, seed: int) -> None:
        self.random = random.Random(seed)
        self.good = good_requests(service)
        self.statuses: collections.Counter[int] = collections.Counter()
        self.wrong: list[str] = []

    def broken(self) -> dict[str, Any]:
        request = copy.deepcopy(self.random.choice(self.good))
        for _ in range(self.random.randint(1, 3)):
            self.random.choice(
                [self._path, self._query, self._body, self._body, self._body, self._headers, self._bytes]
            )(request)
        return request

    def _path(self, request: dict[str, Any]) -> None:
        parts = request["path"].split("/")
        parts[self.random.randrange(3, len(parts))] = quote(str(self.random.choice(VALUES))[:3000], safe="")
        request["path"] = "/".join(parts)

    def _query(self, request: dict[str, Any]) -> None:
        names = [
            "limit",
            "cursor",
            "platform",
            "mode",
            "revision",
            "state",
            "series",
            "tree",
            "branch",
            "format",
            "after",
            "suite",
            "name",
            "x",
        ]
        request["params"][self.random.choice(names)] = str(self.random.choice(VALUES))[:3000]

    def _body(self, request: dict[str, Any]) -> None:
        if request["json"] is None:
            return
        places = list(_paths(request, "json"))
        holder, key = self.random.choice(places)
        act = self.random.random()
        if act < 0.15 and isinstance(holder, dict) and holder is not request:
            del holder[key]
        elif act < 0.25 and isinstance(holder, dict) and holder is not request:
            holder[str(self.random.choice(STRINGS))[:1000]] = self.random.choice(VALUES)
        elif act < 0.3 and isinstance(holder, list):
            holder.extend(copy.deepcopy(holder[:3]))
        else:
            holder[key] = copy.deepcopy(self.random.choice(VALUES))

    def _headers(self, request: dict[str, Any]) -> None:
        request["headers"][
            self.random.choice(
                [
                    "Content-Type",
                    "Content-Encoding",
                    "Idempotency-Key",
                    "If-None-Match",
                    "Last-Event-ID",
                    "Accept-Encoding",
                ]
            )
        ] = self.random.choice(
            [
                "application/json",
                "text/plain",
                "gzip",
                "zstd",
                "br",
                "*",
                "x" * 500,
                "application/x-tar",
                "-1",
                '"',
                "",
            ]
        )

    def _bytes(self, request: dict[str, Any]) -> None:
        request["mangle"] = self.random.choice(["cut", "flip", "gzip", "none", "repeat"])

    def content(self, request: dict[str, Any]) -> bytes | None:
        if request["json"] is None:
            return None
        body = json.dumps(request["json"]).encode()
        how = request["mangle"]
        if how == "cut":
            return body[: self.random.randrange(len(body) + 1)]
        if how == "flip" and body:
            held = bytearray(body)
            for _ in range(self.random.randint(1, 5)):
                held[self.random.randrange(len(held))] ^= 1 << self.random.randrange(8)
            return bytes(held)
        if how == "gzip":
            request["headers"]["Content-Encoding"] = "gzip"
            return gzip.compress(body)[: self.random.choice([None, 5, -3])]
        return body * 2 if how == "repeat" else body


def _paths(holder: Any, key: Any) -> Any:
    yield holder, key
    held = holder[key]
    if isinstance(held, dict):
        for name in held:
            yield from _paths(held, name)
    elif isinstance(held, list):
        for index in range(min(4, len(held))):
            yield from _paths(held, index)


def good_requests(service: Served) -> list[dict[str, Any]]:
    """One of every kind; what they name exists."""
    run = run_of(boots=2, cases=4, shift=0.1)
    late = run_of(boots=2, cases=4, seed=7)
    with service.http() as http:
        put_all(http, run)
        http.put(f"/api/v1/runs/{late.digest}", json=record_of(late)).raise_for_status()
        targets = [{"platform": "amd-rome", "mode": "walltime"}]
        asked = {
            "tree": "https://git.example.org/x.git",
            "base": commit_of("base"),
            "head": commit_of("head"),
            "targets": targets,
            "suites": ["local-storage"],
        }
        offer = {"host": "rome-9", "platform": "amd-rome", "modes": ["walltime"], "isolation": "bubblewrap"}
        http.post("/api/v1/offers", json=offer).raise_for_status()
        made = (
            http.post("/api/v1/requests", json=asked, headers={"Idempotency-Key": "good"})
            .raise_for_status()
            .json()
        )
        lease = http.post("/api/v1/offers", json=offer).raise_for_status().json()["lease"]
        series = http.get("/api/v1/series").json()["items"][0]["series"]
    job, request = made["jobs"][0]["job"], made["request"]
    number, boot = next(iter(boots_of(late)))
    event = {"number": 1, "kind": "line", "at": "2026-11-21T12:00:00Z", "data": {"text": "x"}}
    follow = {
        "tree": "https://git.example.org/x.git",
        "branch": "master",
        "policy": "push",
        "targets": targets,
        "suites": ["local-storage"],
    }
    pair = f"{commit_of('base')}...{commit_of('head')}"
    reads = [
        "/runs", f"/runs/{run.digest}", f"/runs/{run.digest}/boots/1", f"/runs/{run.digest}/boots/1/raw", f"/runs/{run.digest}/boots/1/raw/x",
        f"/runs/{run.digest}/comparison", f"/runs/{run.digest}/export", "/comparisons", f"/comparisons/{pair}", f"/comparisons/nearest...{commit_of('head')}",
        "/series", f"/series/{series}", f"/series/{series}/history", f"/series/{series}/samples", f"/revisions/{commit_of('head')}", "/branches", "/changes",
        "/reports", f"/reports/{'0' * 32}", "/reports/quality", "/suites", "/suites/local-storage", "/requests", f"/requests/{request}", "/queue", "/jobs",
        f"/jobs/{job}", f"/jobs/{job}/events", "/hosts", "/follows", "/tokens", "/audit",
    ]  # fmt: skip
    writes = [
        ("PUT", f"/runs/{late.digest}", record_of(late)),
        ("PUT", f"/runs/{late.digest}/boots/{number}", boot),
        ("PUT", f"/runs/{late.digest}/boots/{number}/raw", "no archive"),
        ("POST", "/requests", asked),
        ("POST", f"/requests/{request}/cancel", {}),
        ("POST", f"/jobs/{job}/cancel", {}),
        ("POST", f"/jobs/{job}/retry", {}),
        ("POST", "/offers", offer),
        ("POST", f"/leases/{lease}/heartbeat", {}),
        ("POST", f"/leases/{lease}/events", {"events": [event]}),
        ("POST", f"/leases/{lease}/complete", {"outcome": "host-failed", "reason": "x"}),
        ("POST", f"/reports/{'0' * 32}/triage", {"state": "noise", "note": "x"}),
        ("POST", "/tokens", {"name": "x", "scopes": ["read"]}),
        ("DELETE", "/tokens/x", None),
        ("POST", "/follows", follow),
        ("DELETE", "/follows/1", None),
        ("POST", "/imports?platform=amd-rome&mode=walltime&name=x", "BenchmarkX-1 10 5 ns/op\n"),
    ]
    return [_request("GET", path, None) for path in reads] + [_request(*write) for write in writes]


def _request(method: str, path: str, body: Any) -> dict[str, Any]:
    return {
        "method": method,
        "path": f"/api/v1{path}",
        "params": {},
        "headers": {},
        "json": body,
        "mangle": "none",
    }


async def fuzz(fuzzer: Fuzzer, service: Served, count: int) -> None:
    left = iter(range(count))
    headers = {
        "Authorization": f"Bearer {service.token}",
        "Content-Type": "application/json",
        "Idempotency-Key": "good",
    }
    async with httpx2.AsyncClient(base_url=service.url, timeout=60, trust_env=False) as http:

        async def some() -> None:
            for number in left:
                request = fuzzer.broken()
                try:
                    await _one(fuzzer, http, request, headers)
                except (httpx2.InvalidURL, httpx2.LocalProtocolError, UnicodeError, ValueError):
                    fuzzer.statuses[0] += 1  # no client can send it
                except httpx2.TransportError as error:
                    fuzzer.wrong.append(
                        f"no answer ({error!r}) to {request['method']} {request['path'][:300]}"
                    )
                if number % 5000 == 0:
                    print(f"{number:7,} {dict(sorted(fuzzer.statuses.items()))}", flush=True)

        await asyncio.gather(*(some() for _ in range(AT_ONCE)))


async def _one(
    fuzzer: Fuzzer, http: httpx2.AsyncClient, request: dict[str, Any], headers: dict[str, str]
) -> None:
    content = fuzzer.content(request)
    params = request["params"] or None
    sent = {**headers, **request["headers"]}
    response = await http.request(
        request["method"], request["path"], params=params, content=content, headers=sent
    )
    fuzzer.statuses[response.status_code] += 1
    odd = response.status_code >= 400 and not response.headers.get("content-type", "").startswith(
        "application/problem+json"
    )
    if response.status_code >= 500 or odd:
        fuzzer.wrong.append(
            f"{response.status_code} {request['method']} {response.url} {(content or b'')[:2000]!r}\n  {response.text[:300]}"
        )


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        service = stack.enter_context(served(folder))
        fuzzer = Fuzzer(service, seed)
        asyncio.run(fuzz(fuzzer, service, count))
        halves = service.rows(
            "SELECT count(*) FROM boot LEFT JOIN boot_document USING (run_id, number) WHERE content IS NULL"
        )
    print(
        f"{count:,} requests, seed {seed}: {dict(sorted(fuzzer.statuses.items()))}; boots without a document: {halves[0][0]}"
    )
    for text in fuzzer.wrong[:20]:
        print(text)
    print(f"{len(fuzzer.wrong)} server errors or answers that are no problem document")
    sys.exit(bool(fuzzer.wrong) or halves[0][0] > 0)


if __name__ == "__main__":
    main()
