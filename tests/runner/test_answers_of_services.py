"""What a service answers is taken as hostile input: its size, its time, its form."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from click.testing import CliRunner

from cliffwatch.command.main import main
from cliffwatch.failure import HttpFailure
from cliffwatch_runner.upload import client as clients
from cliffwatch_runner.upload.client import Client, Patience

ONCE = Patience(tries=1)


class Odd(BaseHTTPRequestHandler):
    """Answers by the first part of the path."""

    def do_GET(self) -> None:
        how = self.path.split("/")[1]
        if how == "redirect":
            self.answer(302, b"", Location="https://elsewhere.example.org/")
        elif how == "refused":
            self.answer(401, b"")
        elif how == "deep":
            self.answer(200, b"[" * 200_000)
        elif how == "page":
            self.answer(200, b"<html>")
        else:
            self.answer(200, b'"' + b"x" * (2 << 20) + b'"')

    def answer(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Keeps quiet."""


@pytest.fixture(scope="module")
def odd() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Odd)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def asked(url: str) -> HttpFailure:
    client = Client(url, None, patience=ONCE)
    reply = client.get("/jobs")
    client.close()
    assert isinstance(reply, HttpFailure)
    return reply


@pytest.mark.parametrize(
    ("path", "message", "whose"),
    [
        ("redirect", "redirects to 'https://elsewhere.example.org/'", "usage"),
        ("refused", "it answers 401", "usage"),
        ("deep", "without JSON: it may be another service", "host"),
        ("page", "without JSON: it may be another service", "host"),
    ],
)
def test_an_odd_answer_is_a_failure_that_says_what_came(
    odd: str, path: str, message: str, whose: str
) -> None:
    failed = asked(f"{odd}/{path}")
    assert message in failed.message
    assert failed.whose == whose


@pytest.mark.parametrize(("limit", "value"), [("_LARGEST_ANSWER", 1 << 20), ("_LONGEST_ANSWER", -1.0)])
def test_an_answer_without_end_is_not_read_to_it(
    odd: str, monkeypatch: pytest.MonkeyPatch, limit: str, value: float
) -> None:
    monkeypatch.setattr(clients, limit, value)
    assert "sends more than" in asked(f"{odd}/large").message


@pytest.mark.parametrize("url", ["ftp://x", ""])
def test_what_is_no_address_is_not_tried_again(url: str) -> None:
    failed = asked(url)
    assert (failed.whose, failed.next_step) == ("usage", "check the URL")


@pytest.mark.parametrize(
    ("name", "reason", "message"),
    [
        ("../../tokens?x", "because", "is no name of a host"),
        ("..", "because", "is no name of a host"),
        ("rome/1", "because", "is no name of a host"),
        ("rome-1", " ", "--reason is empty"),
    ],
)
def test_a_name_that_would_lead_to_another_address_is_not_sent(
    odd: str, tmp_path: Path, name: str, reason: str, message: str
) -> None:
    token = tmp_path / "token"
    token.write_text("cw_x")
    token.chmod(0o600)
    words = ["host", "quarantine", name, "--reason", reason, "--url", odd, "--token-file", str(token)]
    ended = CliRunner().invoke(main, words)
    assert ended.exit_code == 2, ended.output
    assert message in ended.output
