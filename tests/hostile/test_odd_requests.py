"""Requests that are unusual, and nothing worse: each is answered with what it means, and no fault of the
service.
"""

import socket
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from procrastinate.exceptions import ConnectorException
from service_running import Running

from cliffwatch_service.store import background

TEXT = {"Content-Type": "text/plain"}
TWO_LENGTHS = (
    b"POST /api/v1/requests HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
)


def imported(running: Running, text: str, **given: str) -> Any:
    params = {"platform": "amd-rome", "mode": "walltime", "name": "odd.txt", **given}
    with running.http("upload") as http:
        return http.post("/api/v1/imports", params=params, content=text.encode(), headers=TEXT)


def go_lines(cases: int, boots: int) -> str:
    return "".join(f"BenchmarkCase{case} 1 {case + 1} ns/op\n" * boots for case in range(cases))


@pytest.mark.parametrize(
    ("text", "given"),
    [
        (go_lines(5001, 1), {}),
        (go_lines(1, 10_001), {}),
        (f"Benchmark{'A' * 191} 1 1 ns/op\n" * 3, {}),
        (f"Benchmark{'A' * 210} 1 1 ns/op\n" * 3, {}),
        ("BenchmarkA 1 1 ns/op\n" * 3, {"name": "n" * 200}),
        ("BenchmarkA 1 1 ns/op\n" * 3, {"platform": "p" * 180}),
        (f"BenchmarkA 1 1 {'u' * 190}/op\n" * 3, {}),
        (f"BenchmarkA 1 1 {'u' * 300}/op\n" * 3, {}),
        ("pkg: " + "p" * 200 + "\nBenchmarkA 1 1 ns/op\n" * 3, {}),
        ("pkg: " + "p" * 5000 + "\nBenchmarkA 1 1 ns/op\n" * 3, {}),
        ("".join(f"BenchmarkA/{'/'.join(f'k{n}=v' for n in range(40))} 1 1 ns/op\n" for _ in range(3)), {}),
        (f"BenchmarkA/k={'v' * 300} 1 1 ns/op\n" * 3, {}),
        ("goos: " + "x" * 70_000 + "\nBenchmarkA 1 1 ns/op\n" * 3, {}),
        ("x\n" * 50_000 + "BenchmarkA 1 1 ns/op\n" * 3, {}),
        ("BenchmarkA 1 1e308 ns/op 1e-308 B/op\n" * 3, {}),
    ],
    ids=lambda value: str(value)[:24] if isinstance(value, str) else ",".join(value),
)
def test_an_import_at_the_limits_is_taken_or_refused(
    running: Running, text: str, given: dict[str, str]
) -> None:
    answer = imported(running, text, **given)

    assert answer.status_code in (201, 413, 422), answer.text[:600]
    if answer.status_code != 201:
        assert "Traceback" not in answer.text
        assert answer.json()["detail"]


@pytest.mark.parametrize(
    "error",
    [psycopg.errors.AdminShutdown("terminating connection"), psycopg.errors.CannotConnectNow("starting up")],
    ids=lambda error: type(error).__name__,
)
def test_a_database_that_restarts_is_a_reason_to_come_again(
    running: Running, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """Procrastinate wraps what PostgreSQL's driver says."""

    def away(*_: object, **__: object) -> None:
        raise ConnectorException from error

    monkeypatch.setattr(background, "_ask", away)
    run = imported(running, "BenchmarkA 1 1 ns/op\n" * 3)

    assert run.status_code == 503, run.text
    assert int(run.headers["retry-after"]) > 0


def spoken(running: Running, sent: bytes) -> bytes:
    """All that the service says until it closes the connection."""
    address = urlsplit(running.url)
    content = b""
    with socket.create_connection((address.hostname, address.port), timeout=20) as connection:
        connection.sendall(sent)
        while part := connection.recv(65536):
            content += part
    return content


@pytest.mark.parametrize("order", ["length first", "encoding first"])
def test_a_body_of_two_lengths_is_refused_and_nothing_after_it_is_answered(
    running: Running, order: str
) -> None:
    """A proxy before the service may take the other one of the two, and what follows for a request of
    somebody else.
    """
    sent = TWO_LENGTHS
    if order == "encoding first":
        sent = sent.replace(
            b"Content-Length: 5\r\nTransfer-Encoding: chunked",
            b"Transfer-Encoding: chunked\r\nContent-Length: 5",
        )

    said = spoken(running, sent)

    assert said.startswith(b"HTTP/1.1 400 "), said[:300]
    assert said.count(b"HTTP/1.1 ") == 1
    assert b"connection: close" in said.lower()


@pytest.mark.parametrize(
    "path",
    ["/", "/healthz", "/readyz", "/metrics", "/runs", "/hosts", "/api/v1/runs", "/static/site.css", "/none"],
)
def test_head_is_get_without_its_body(running: Running, path: str) -> None:
    with running.http(None) as http:
        whole, head = http.get(path), http.head(path)

    assert head.status_code == whole.status_code
    assert head.content == b""
    assert head.headers["content-type"] == whole.headers["content-type"]


def test_head_of_a_stream_ends(running: Running) -> None:
    with running.http(None) as http:
        assert http.head("/jobs/00000000-0000-0000-0000-000000000000/stream").status_code == 404
