"""The log says who sent a request, from where and for which host. Nobody writes a line of it, or reads a token
in it.
"""

import json
from queue import Queue
from typing import Any

import pytest
import structlog
from service_running import Running
from structlog.contextvars import merge_contextvars

from cliffwatch_service.access.tokens import make_token
from cliffwatch_service.http import logging
from cliffwatch_service.runtime.logs import make_renderers

HOSTILE = 'a\nb "level": \x1b[2J\x9b31m\u202ec\r'


class Lines(Queue[dict[str, Any]]):
    """Events of answered requests, as they are before they become lines. A line follows its answer."""

    def answered(self) -> dict[str, Any]:
        return self.get(timeout=60)


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> Lines:
    kept = Lines()

    def keep(_logger: object, _method: str, event: Any) -> str:
        kept.put(dict(event))
        return ""

    to_queue = structlog.wrap_logger(structlog.ReturnLogger(), processors=[merge_contextvars, keep])
    monkeypatch.setattr(logging, "_log", to_queue)
    return kept


def token(running: Running, name: str, scope: str, host: str | None = None) -> dict[str, str]:
    with running.service.transaction() as connection:
        secret = make_token(connection, name, [scope], by="test", now=running.clock.now(), host=host)
    return {"Authorization": f"Bearer {secret}"}


def test_a_request_has_its_client_token_and_host(running: Running, lines: Lines) -> None:
    offer = {"host": "rome-1", "platform": "amd-rome", "modes": ["walltime"], "isolation": "bubblewrap"}
    of_host = token(running, "rome-1's", "work", "rome-1")
    with running.http(None) as http:
        assert http.post("/api/v1/offers", json=offer, headers=of_host).status_code == 204
        line = lines.answered()
        assert (line["client"], line["token"], line["host"]) == ("127.0.0.1", "rome-1's", "rome-1")

        assert http.get("/api/v1/tokens", headers=token(running, "mine", "read")).status_code == 403
        line = lines.answered()
        assert (line["status"], line["token"], "host" in line) == (403, "mine", False)

        for path in ("/api/v1/suites", "/"):
            http.get(path)
            assert not {"token", "host"} & set(lines.answered())
        http.get("/api/v1/suites", headers={"Authorization": "Bearer cliffwatch_guessed"})
        line = lines.answered()
        assert (line["status"], line["client"], "token" in line) == (401, "127.0.0.1", False)


def test_a_person_who_signs_in_is_named_by_his_token(running: Running, lines: Lines) -> None:
    secret = token(running, "anna", "triage")["Authorization"].removeprefix("Bearer ")
    with running.http(None) as http:
        for send in (lambda: http.post("/sign-in", data={"token": secret}), lambda: http.get("/")):
            send()
            line = lines.answered()
            assert line["token"] == "anna"
            assert secret not in repr(line)


@pytest.mark.parametrize(
    ("trusted", "forwarded", "seen"),
    [
        ("", "203.0.113.9", "127.0.0.1"),
        ("127.0.0.1", "203.0.113.9", "203.0.113.9"),
        ("127.0.0.1", "2001:db8::7", "2001:db8::7"),
        ("127.0.0.1", "10.9.9.9, 203.0.113.9", "203.0.113.9"),
        ("127.0.0.1", '203.0.113.9" status=200 token="admin', '203.0.113.9" status=200 token="admin'),
        ("127.0.0.1", "9" * 5000, "9" * 100),
    ],
    ids=["not trusted", "forwarded", "forwarded IPv6", "the client wrote one too", "no address", "long"],
)
def test_only_a_trusted_proxy_says_who_the_client_is(
    serve_with: Any, lines: Lines, trusted: str, forwarded: str, seen: str
) -> None:
    with serve_with(trusted_proxies=trusted) as running, running.http(None) as http:
        http.get("/healthz", headers={"X-Forwarded-For": forwarded})
    assert lines.answered()["client"] == seen


@pytest.mark.parametrize("as_json", [True, False], ids=["json", "terminal"])
def test_no_text_of_a_client_begins_a_line_or_moves_a_cursor(
    running: Running, lines: Lines, as_json: bool
) -> None:
    with running.http(None) as http:
        http.get("/api/v1/suites/%0A%1B[2J%C2%9B31m", headers=token(running, HOSTILE, "read"))
    event: Any = lines.answered()
    assert event["token"] == HOSTILE
    assert event["path"].endswith("\n\x1b[2J\x9b31m")
    for renderer in make_renderers(json=as_json, colour=False):
        event = renderer(None, "info", event)
    assert isinstance(event, str)
    assert not set(event) & set("\n\r\x1b\x9b\u202e"), event
    if as_json:
        assert json.loads(event)["token"] == HOSTILE
