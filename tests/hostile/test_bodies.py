"""Bodies that cost more than they weigh: nobody without a token has one unpacked, and nobody's holds up
anybody else.
"""

import gzip
import json
import re
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import httpx2
import pytest
import zstandard
from service_running import Running
from service_runs import boots_of, put_all, record_of, run_of

from cliffwatch_service.http import bodies
from cliffwatch_service.http.room import Room
from cliffwatch_service.refusal import Refusal

BOMB = gzip.compress(b" " * (63 << 20), 9)
JSON = {"Content-Type": "application/json"}
PACKED = {**JSON, "Content-Encoding": "gzip"}


@contextmanager
def asked_meanwhile(running: Running) -> Iterator[list[float]]:
    """How long /healthz took, in seconds, each time that it was asked while this lasted."""
    stop, begun, took = threading.Event(), threading.Event(), list[float]()

    def ask() -> None:
        with running.http(None) as http:
            while not stop.is_set():
                began = time.perf_counter()
                assert http.get("/healthz").status_code == 200
                took.append(time.perf_counter() - began)
                begun.set()
                stop.wait(0.01)

    asking = threading.Thread(target=ask)
    asking.start()
    assert begun.wait(60)
    took.clear()  # what the first answer of a service takes is no matter of what comes now
    try:
        yield took
    finally:
        stop.set()
        asking.join()


@pytest.mark.parametrize(
    "begin", ["", "BenchmarkA 1 2 ns/op\n", "Setting up benchmark 'x'...\n", "From: a\nSubject: b\n\n"]
)
def test_newlines_in_an_import_hold_nobody_up(running: Running, begin: str) -> None:
    params = {"platform": "amd-rome", "mode": "walltime", "name": "newlines"}
    content = (begin + "\n" * (64 << 10)).encode()
    with running.http("upload") as http, asked_meanwhile(running) as took:
        answer = http.post(
            "/api/v1/imports", params=params, content=content, headers={"Content-Type": "text/plain"}
        )
    assert answer.status_code in (201, 422), answer.text
    assert max(took) < 1


@pytest.mark.parametrize("token", [None, "Bearer cliffwatch_unknown", "Bearer", "Basic eDp5"])
def test_thirty_bombs_without_a_token_are_not_unpacked(running: Running, token: str | None) -> None:
    run = run_of(boots=1, cases=1)
    headers = {**PACKED, **({"Authorization": token} if token else {})}

    def send(number: int) -> int:
        address = f"/api/v1/runs/{run.digest}/boots/{number}/raw"
        return int(http.put(address, content=BOMB, headers=headers).status_code)

    with running.http(None) as http, asked_meanwhile(running) as took, ThreadPoolExecutor(30) as pool:
        assert set(pool.map(send, range(1, 31))) == {401}
    assert max(took) < 2


def test_bombs_with_a_token_hold_nobody_up(running: Running) -> None:
    """Sixteen at once, each within its limit of 64 MiB: some are asked to come again, and
    /healthz goes on.
    """
    run = run_of(boots=1, cases=1)
    with running.http("upload") as http:
        put_all(http, run)

    def send(number: int) -> Any:
        address = f"/api/v1/runs/{run.digest}/boots/{number}/raw"
        return http.put(address, content=BOMB, headers=headers)

    headers = {"Content-Type": "application/x-tar", "Content-Encoding": "gzip"}
    with running.http("upload") as http, asked_meanwhile(running) as took, ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(send, range(1, 17)))
    assert {answer.status_code for answer in answers} <= {422, 429}
    assert all(answer.headers["retry-after"] for answer in answers if answer.status_code == 429)
    assert max(took) < 2


def test_the_rate_is_looked_at_before_the_body(serve_with: Any) -> None:
    run = run_of(boots=1, cases=1)
    with serve_with(requests_per_minute=5) as running, running.http("upload") as http:
        statuses = [
            http.put(f"/api/v1/runs/{run.digest}", content=b"no gzip", headers=PACKED).status_code
            for _ in range(7)
        ]
    assert statuses == [400] * 5 + [429] * 2


@pytest.mark.parametrize("scope", ["read", "triage"])
def test_whoever_may_not_upload_has_nothing_unpacked(running: Running, scope: str) -> None:
    run = run_of(boots=1, cases=1)
    with running.http(scope) as http:
        answer = http.put(f"/api/v1/runs/{run.digest}", content=b"no gzip at all", headers=PACKED)
    assert answer.status_code == 403


def test_a_body_that_says_to_be_too_large_is_refused_before_it_is_read(running: Running) -> None:
    run = run_of(boots=1, cases=1)
    with running.http("upload") as http:
        answer = http.put(f"/api/v1/runs/{run.digest}", content=b" " * (9 << 20), headers=JSON)
    assert answer.status_code == 413
    assert str(6 << 20) in answer.json()["detail"]


@pytest.mark.parametrize("window", [24, 27])
def test_a_window_that_needs_much_memory_is_refused(running: Running, window: int) -> None:
    run = run_of(boots=1, cases=1)
    parameters = zstandard.ZstdCompressionParameters(window_log=window, enable_ldm=True)
    writer = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    body = writer.compress(b" " * 1000) + writer.flush()
    with running.http("upload") as http:
        headers = {**JSON, "Content-Encoding": "zstd"}
        answer = http.put(f"/api/v1/runs/{run.digest}", content=body, headers=headers)
    assert answer.status_code == 400
    assert "memory" in answer.json()["detail"].lower()


def test_frames_and_members_after_the_first_are_not_added_up(running: Running) -> None:
    run = run_of(boots=1, cases=1)
    frame = zstandard.ZstdCompressor().compress(json.dumps(record_of(run)).encode())
    with running.http("upload") as http:
        for body, encoding in ((frame * 1000, "zstd"), (gzip.compress(b"{}") * 1000, "gzip")):
            answer = http.put(
                f"/api/v1/runs/{run.digest}", content=body, headers={**JSON, "Content-Encoding": encoding}
            )
            assert answer.status_code in (201, 400)


def test_a_form_is_small_and_plain(running: Running) -> None:
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    with running.http(None) as http:
        packed = http.post("/sign-in", content=BOMB, headers={**form, "Content-Encoding": "gzip"})
        large = http.post("/sign-in", content=b"token=" + b"x" * 70_000, headers=form)
    assert (packed.status_code, large.status_code) == (415, 413)
    assert packed.headers["content-type"].startswith("text/html")


def test_a_body_that_drips_is_given_up(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "GRACE_SECONDS", 0.5)
    monkeypatch.setattr(bodies, "_DRAIN_SECONDS", 0.5)
    run = run_of(boots=1, cases=1)

    def drip() -> Iterator[bytes]:
        for _ in range(1000):
            yield b" "
            gone.wait(0.05)

    gone = threading.Event()
    with running.http("upload") as http:
        began = time.monotonic()
        try:
            answer = http.put(f"/api/v1/runs/{run.digest}", content=drip(), headers=JSON)
            assert answer.status_code == 408
        except httpx2.TransportError:
            pass  # closed while it was still sending
    assert time.monotonic() - began < 30


def test_large_documents_are_taken_beside(running: Running) -> None:
    """A boot of two MiB: it is taken, comes back as it was, is refused where it is wrong, and holds nobody
    up.
    """
    run = run_of(boots=2, cases=1)
    number, boot = next(iter(boots_of(run)))
    boot["samples"][0]["readings"] = [1.0 + each / 7 for each in range(99_000)]
    with running.http("upload") as http, asked_meanwhile(running) as took:
        http.put(f"/api/v1/runs/{run.digest}", json=record_of(run)).raise_for_status()
        address = f"/api/v1/runs/{run.digest}/boots/{number}"
        assert http.put(address, json=boot).status_code == 201
        assert http.put(address, json=boot).status_code == 200
        assert http.get(address).json()["samples"] == boot["samples"]
        boot["samples"][0]["unit"] = "parsecs"
        refused = http.put(address, json=boot)
        assert refused.status_code == 422
        assert "unknown unit" in refused.json()["detail"]
    assert max(took) < 2


@pytest.mark.parametrize("text", ["\\u0000", "\\\\\\u0000", "\0"])
def test_a_nul_is_found_wherever_it_is(running: Running, text: str) -> None:
    body = b'{"host": "' + b"\\\\" * 100_000 + text.encode() + b'"}'
    with running.http("upload") as http:
        answer = http.put("/api/v1/runs/" + "0" * 32, content=body, headers=JSON)
    assert answer.json()["title"] == "NUL in the body"


def test_text_that_only_says_nul_is_none(running: Running) -> None:
    """Before, an expression walked over all these backslashes for seconds, and nothing else ran meanwhile."""
    body = b'{"host": "' + b"\\\\" * 2_000_000 + b"\\\\u0000" + b'"}'
    with running.http("upload") as http, asked_meanwhile(running) as took:
        answer = http.put("/api/v1/runs/" + "0" * 32, content=body, headers=JSON)
    assert answer.json()["title"] != "NUL in the body"
    assert max(took) < 2


def test_room_is_for_all_and_for_each() -> None:
    room = Room("bytes", whole=10, each=6)
    room.take("one", 6)
    assert status_of(room, "one", 1) == 429
    assert status_of(room, "other", 5) == 503
    room.take("other", 4)
    room.give_back("one", 6)
    room.take("other", 2)
    assert status_of(room, "other", 1) == 429


def status_of(room: Room, who: str, size: int) -> int:
    with pytest.raises(Refusal) as refused:
        room.take(who, size)
    assert re.search("bytes", refused.value.detail)
    return refused.value.status
