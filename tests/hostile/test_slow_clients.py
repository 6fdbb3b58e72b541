"""Clients that send, read or leave slowly, or come in crowds: everybody else is answered meanwhile."""

import random
import resource
import socket
import tarfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from urllib.parse import urlsplit

import pytest
from service_running import Running
from service_runs import commit_of, put_all, run_of

from cliffwatch_service.http import connections
from cliffwatch_service.http.addresses import origin_of


@pytest.fixture(autouse=True, scope="module")
def _open_files() -> None:
    """Clients and service are one process here; an ordinary user's starts with 1,024."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


HALF = b"GET / HTTP/1.1\r\nHost: x\r\nX-Slow: "


def connected(running: Running, source: str = "127.0.0.1") -> socket.socket:
    made = socket.socket()
    made.settimeout(30)
    made.bind((source, 0))
    made.connect((urlsplit(running.url).hostname, urlsplit(running.url).port))
    return made


@contextmanager
def half_sent(running: Running, count: int, source: str = "127.0.0.1") -> Iterator[list[socket.socket]]:
    with ExitStack() as stack:
        made = [stack.enter_context(connected(running, source)) for _ in range(count)]
        for each in made:
            try:
                each.sendall(HALF)
            except OSError:
                continue  # closed by the service already
        yield made


def answer_of(connection: socket.socket) -> bytes:
    """What the service says before it closes."""
    content = b""
    try:
        while part := connection.recv(65536):
            content += part
    except ConnectionResetError:
        pass
    return content


def is_answered(running: Running) -> bool:
    with running.http(None) as http:
        return bool(http.get("/healthz").status_code == 200)


def test_hundreds_of_half_sent_heads_from_many_addresses_shut_nobody_out(running: Running) -> None:
    """520 of them, more than there may be connections: those that waited longest make room."""
    with ExitStack() as stack:
        for number in range(13):
            stack.enter_context(half_sent(running, 40, f"127.0.1.{number + 1}"))
        assert is_answered(running)


def test_one_address_has_its_share_of_connections_and_others_theirs(running: Running) -> None:
    with half_sent(running, 520, "127.0.2.1") as many:
        assert is_answered(running)
        with connected(running, "127.0.2.1") as one_more:
            refused = answer_of(one_more)
        del many
    assert refused.startswith(b"HTTP/1.1 429 ")
    assert b"Retry-After: " in refused


def test_a_connection_that_ends_makes_room_again(serve_with: Any) -> None:
    with serve_with(http_connections_per_address=3) as running:
        for _ in range(10):
            with half_sent(running, 2, "127.0.2.2") as made:
                _until_open(running, [each.getsockname() for each in made])
            _until_open(running, [])
        with connected(running, "127.0.2.2") as again:
            again.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            assert answer_of(again).startswith(b"HTTP/1.1 200")


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "HEAD_SECONDS", 1.0)


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize("sent", [b"", b"G", HALF])
def test_a_head_that_does_not_come_is_given_up(running: Running, sent: bytes) -> None:
    with connected(running) as slow:
        slow.sendall(sent)
        began = time.monotonic()
        answer = answer_of(slow)
        assert time.monotonic() - began < 20
    assert answer.endswith(b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")


@pytest.mark.usefixtures("hasty")
def test_the_head_of_a_further_request_is_given_up_too(running: Running) -> None:
    with connected(running) as slow:
        slow.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        assert slow.recv(65536).startswith(b"HTTP/1.1 200")
        slow.sendall(HALF)
        assert answer_of(slow).endswith(
            b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
        )


@pytest.mark.usefixtures("hasty")
def test_a_head_that_drips_is_given_up(running: Running) -> None:
    with connected(running) as slow:
        slow.settimeout(0.1)
        began = time.monotonic()
        answer = b""
        while not answer:
            slow.sendall(b"X")
            try:
                answer = slow.recv(100)
            except TimeoutError:
                assert time.monotonic() - began < 20
    assert answer.startswith(b"HTTP/1.1 408 ")


@pytest.mark.usefixtures("hasty")
def test_a_body_that_nobody_asked_for_holds_no_connection(running: Running) -> None:
    """A GET with a body that drips: it is answered, and what it still sends keeps nothing open."""
    with connected(running) as slow:
        slow.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\nx")
        slow.settimeout(0.1)
        began = time.monotonic()
        while time.monotonic() - began < 20:
            try:
                slow.sendall(b"x")
                if not slow.recv(65536):
                    break
            except TimeoutError:
                continue
            except OSError:
                break
        assert time.monotonic() - began < 20


def test_an_answer_that_nobody_reads_is_given_up(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "UNREAD_SECONDS", 1.0)
    run = run_of(boots=1, cases=1)
    archive = _archive(40 << 20)
    with running.http("upload") as http:
        put_all(http, run)
        address = f"/api/v1/runs/{run.digest}/boots/1/raw"
        http.put(address, content=archive, headers={"Content-Type": "application/x-tar"}).raise_for_status()
    with connected(running) as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.sendall(f"GET {address}/noise HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        _until_closed(running, deaf)
    assert is_answered(running)


def _archive(size: int) -> bytes:
    member = tarfile.TarInfo("noise")
    member.size = size
    return member.tobuf() + random.Random(1).randbytes(size) + bytes(1024)


def _until_open(running: Running, addresses: list[Any]) -> None:
    """Waits until these connections are the open ones of the service."""
    began = time.monotonic()
    while {protocol.client for protocol in running.server.server_state.connections} != set(addresses):
        assert time.monotonic() - began < 60
        time.sleep(0.01)


def _until_closed(running: Running, deaf: socket.socket) -> None:
    """Waits for the service to give the connection up: reading it before would keep it going."""
    address = deaf.getsockname()
    began = time.monotonic()
    while _is_open(running, address):
        assert time.monotonic() - began < 60
        time.sleep(0.1)


def _is_open(running: Running, address: tuple[str, int]) -> bool:
    return any(protocol.client == address for protocol in running.server.server_state.connections)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("127.0.0.1", "127.0.0.2", False),
        ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9", True),
        ("2001:db8:1:2::1", "2001:db8:1:3::1", False),
        ("::ffff:192.0.2.1", "192.0.2.1", True),
        ("fe80::1%eth0", "fe80::2%eth1", True),
        ("no address", "no address", True),
    ],
)
def test_addresses_of_one_network_count_together(one: str, other: str, *, same: bool) -> None:
    assert (origin_of(one) == origin_of(other)) is same


def test_a_proxy_that_is_trusted_may_have_any_number(serve_with: Any) -> None:
    with (
        serve_with(http_connections_per_address=3, trusted_proxies="127.0.3.0/24") as running,
        half_sent(running, 30, "127.0.3.7"),
        connected(running, "127.0.3.7") as one_more,
    ):
        one_more.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        assert answer_of(one_more).startswith(b"HTTP/1.1 200")


def test_event_streams_are_counted(running: Running) -> None:
    """Each is looked at twice a second: one address has sixteen at most, and those that end make room."""
    job = _job(running)
    with ExitStack() as stack:
        statuses = []
        for _ in range(18):
            http = stack.enter_context(running.http(None))
            statuses.append(stack.enter_context(http.stream("GET", f"/api/v1/jobs/{job}/stream")).status_code)
    assert statuses == [200] * 16 + [429] * 2


def _job(running: Running) -> str:
    running.enrol("amd-rome", "walltime")
    asked = {
        "tree": "https://git.example.org/x.git",
        "base": commit_of("base"),
        "head": commit_of("head"),
        "targets": [{"platform": "amd-rome", "mode": "walltime"}],
        "suites": ["local-storage"],
    }
    with running.http("upload") as http:
        made = (
            http.post("/api/v1/requests", json=asked, headers={"Idempotency-Key": "x"})
            .raise_for_status()
            .json()
        )
    return str(made["jobs"][0]["job"])
