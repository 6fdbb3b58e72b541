"""The proxy that docs/operations.md recommends, with its own file: what it must hold off the service, it
does.
"""

import os
import re
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx2
import pytest

from cliffwatch.failure import HttpFailure
from cliffwatch_runner.upload.client import Client, Patience

CONFIGURATION = Path(__file__).parents[2] / "examples/nginx/cliffwatch.conf"
NGINX = shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin")
pytestmark = pytest.mark.skipif(NGINX is None, reason="nginx is not installed here: make test-programs")

MAIN = """\
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log stderr;
events {{ worker_connections 2000; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/cliffwatch.conf;
}}
"""


@pytest.fixture
def behind(serve_with: Any) -> Iterator[Any]:
    with serve_with(trusted_proxies="127.0.0.1", requests_per_minute=60) as running:
        yield running


@pytest.fixture
def port(behind: Any, tmp_path: Path) -> Iterator[int]:
    """Where an nginx with the file of the repository listens, changed in its addresses and its certificate
    alone.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    _certificate(tmp_path)
    changes = {
        r"listen 443 ssl;": f"listen 127.0.0.1:{port} ssl;",
        r"127\.0\.0\.1:8000": behind.url.removeprefix("http://"),
        r"/etc/ssl/certs/\S+;": f"{tmp_path}/certificate;",
        r"/etc/ssl/private/\S+;": f"{tmp_path}/key;",
        r"client_header_timeout 10s": "client_header_timeout 1s",
    }
    text = CONFIGURATION.read_text()
    for pattern, instead in changes.items():
        text, count = re.subn(pattern, instead, text)
        assert count, pattern
    (tmp_path / "cliffwatch.conf").write_text(text)
    (tmp_path / "nginx.conf").write_text(
        ("user root;\n" if _is_root() else "") + MAIN.format(folder=tmp_path)
    )
    assert NGINX is not None
    with (tmp_path / "nginx.log").open("w") as log:
        process = subprocess.Popen([NGINX, "-c", str(tmp_path / "nginx.conf"), "-e", "stderr"], stderr=log)
    try:
        _until_it_listens(process, port, tmp_path / "nginx.log")
        yield port
    finally:
        process.terminate()
        process.wait(30)


def _is_root() -> bool:
    return os.geteuid() == 0


def _certificate(folder: Path) -> None:
    subprocess.run(
        [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-days",
            "2",
            "-subj",
            "/CN=localhost",
            "-keyout",
            str(folder / "key"),
            "-out",
            str(folder / "certificate"),
        ],
        check=True,
        capture_output=True,
    )


def _until_it_listens(process: "subprocess.Popen[bytes]", port: int, log: Path) -> None:
    began = time.monotonic()
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 5).close()
        except OSError:
            assert process.poll() is None, log.read_text()
            assert time.monotonic() - began < 60
            time.sleep(0.05)
        else:
            return


def client(port: int) -> httpx2.Client:
    return httpx2.Client(base_url=f"https://127.0.0.1:{port}", verify=False, trust_env=False, timeout=60)


def test_the_service_is_reached_and_knows_that_it_is_https(behind: Any, port: int) -> None:
    with client(port) as http:
        assert http.get("/").status_code == 200
        answer = http.post("/sign-in", data={"token": behind.tokens["read"]})
        assert "Secure" in answer.headers["set-cookie"]
        assert http.get("/metrics").status_code == 404


def test_a_certificate_that_nobody_vouches_for_gets_no_token(behind: Any, port: int) -> None:
    """What a host sends goes to the service alone: whoever stands between them with a certificate of his own
    gets no request.
    """
    stranger = Client(f"https://127.0.0.1:{port}", behind.tokens["work"], patience=Patience(tries=1))
    reply = stranger.get("/suites")
    stranger.close()
    assert isinstance(reply, HttpFailure)
    assert "certificate" in reply.message.lower()


def test_nobody_says_for_himself_who_he_is(behind: Any, port: int) -> None:
    """Sixty requests a minute of one address, whatever it says to be."""
    with client(port) as http:
        statuses = [
            http.get("/api/v1/suites", headers={"X-Forwarded-For": f"203.0.113.{number}"}).status_code
            for number in range(70)
        ]
    assert statuses.count(200) == 60
    assert statuses.count(429) == 10


def test_half_sent_heads_reach_the_service_never(behind: Any, port: int) -> None:
    with ExitStack() as stack:
        for number in range(300):
            made = stack.enter_context(
                socket.create_connection(("127.0.0.1", port), 30, (f"127.0.4.{number % 5 + 1}", 0))
            )
            if number % 5 == 0:
                made.sendall(b"GET / HTTP/1.1\r\n")
        with client(port) as http:
            assert http.get("/healthz").status_code == 200
    assert len(behind.server.server_state.connections) < 50


def test_one_address_has_its_share(behind: Any, port: int) -> None:
    context = ssl._create_unverified_context()
    with ExitStack() as stack:
        for _ in range(64):
            plain = stack.enter_context(socket.create_connection(("127.0.0.1", port), 30, ("127.0.5.1", 0)))
            wrapped = stack.enter_context(context.wrap_socket(plain))
            wrapped.sendall(b"POST /sign-in HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n")
        plain = stack.enter_context(socket.create_connection(("127.0.0.1", port), 30, ("127.0.5.1", 0)))
        one_more = stack.enter_context(context.wrap_socket(plain))
        one_more.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        assert one_more.recv(100).startswith(b"HTTP/1.1 429 ")
        with client(port) as http:
            assert http.get("/healthz").status_code == 200


def test_a_body_that_is_too_large_reaches_the_service_never(behind: Any, port: int) -> None:
    context = ssl._create_unverified_context()
    with socket.create_connection(("127.0.0.1", port), 30) as plain, context.wrap_socket(plain) as sending:
        sending.sendall(b"PUT /api/v1/runs/0 HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % (65 << 20))
        assert sending.recv(100).startswith(b"HTTP/1.1 413 ")
