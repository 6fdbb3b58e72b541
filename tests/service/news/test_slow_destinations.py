"""Servers that news go to and that answer a byte at a time, or for ever: sending ends in time, and the next
one is tried.
"""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from cliffwatch_service.history.news import mail, webhook
from cliffwatch_service.history.news.mail import Letter, send_mail
from cliffwatch_service.history.news.sending import NotSent, Sent
from cliffwatch_service.history.news.webhook import send_webhook
from cliffwatch_service.runtime.settings import Settings

NOW = datetime(2026, 11, 25, tzinfo=UTC)
LETTER = Letter(
    to="bpf@lists.example.org", subject="s", text="t", identity="i", before=(), manage="https://x.example"
)
PATIENCE = 0.6


@contextmanager
def dripping(pieces: Callable[[], Iterator[bytes]], every: float) -> Iterator[int]:
    """A server that sends the pieces to whoever comes, one each so many seconds; answers its port."""
    over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            while not over.is_set():
                try:
                    taken, _ = listening.accept()
                except OSError:
                    return
                with taken:
                    drip(taken)

        def drip(taken: socket.socket) -> None:
            try:
                for piece in pieces():
                    taken.sendall(piece)
                    if over.wait(every):
                        return
            except OSError:
                pass

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield int(listening.getsockname()[1])
        finally:
            over.set()
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()


SLOW = {
    "byte by byte": (lambda: iter(b"X" for _ in range(10_000)), 0.02),
    "header by header": (lambda: cycle([b"HTTP/1.1 200 OK\r\n", *[b"X-Slow: x\r\n"] * 10_000]), 0.02),
    "a greeting without end": (lambda: cycle([b"220-welcome\r\n"]), 0.001),
    "nothing": (lambda: iter([b""] * 10_000), 0.02),
}


@pytest.mark.parametrize("how", SLOW)
def test_a_webhook_that_drips_its_answer_is_left(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, how: str
) -> None:
    monkeypatch.setattr(webhook, "_SECONDS", PATIENCE)
    monkeypatch.setattr(webhook, "body_of", lambda _: b"{}")
    whole: Any = type("Whole", (), {"news": type("News", (), {"digest": "d"})()})()
    with dripping(*SLOW[how]) as port:
        settings = Settings(data_dir=tmp_path, news_webhooks=(f"http://127.0.0.1:{port}/",))
        began = time.monotonic()
        outcome = send_webhook(settings, f"http://127.0.0.1:{port}/hook", "secret", whole, NOW)
    assert isinstance(outcome, NotSent)
    assert "not reached" in outcome.reason
    assert not outcome.for_good
    assert time.monotonic() - began < 20


@pytest.mark.parametrize("how", SLOW)
def test_a_mail_server_that_drips_its_answer_is_left(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, how: str
) -> None:
    monkeypatch.setattr(mail, "_WHOLE_SECONDS", PATIENCE)
    with dripping(*SLOW[how]) as port:
        settings = Settings(
            data_dir=tmp_path,
            mail_server=f"127.0.0.1:{port}",
            mail_security="none",
            mail_from="cliffwatch@example.org",
            news_mail=("bpf@lists.example.org",),
        )
        began = time.monotonic()
        outcome = send_mail(settings, LETTER, NOW)
    assert isinstance(outcome, NotSent)
    assert not outcome.for_good
    assert time.monotonic() - began < 15


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 307 x\r\nLocation: http://169.254.169.254/latest\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\nx",
        b"HTTP/1.1 429 x\r\nRetry-After: 99999999999999999999\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 999 \xff\x1b[31m\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nnope",
        b"SSH-2.0-OpenSSH_9.2\r\n",
    ],
)
def test_odd_answers_of_a_webhook_are_a_result(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, answer: bytes
) -> None:
    monkeypatch.setattr(webhook, "body_of", lambda _: b"{}")
    whole: Any = type("Whole", (), {"news": type("News", (), {"digest": "d"})()})()
    with dripping(lambda: iter([answer]), 0.05) as port:
        settings = Settings(data_dir=tmp_path, news_webhooks=(f"http://127.0.0.1:{port}/",))
        outcome = send_webhook(settings, f"http://127.0.0.1:{port}/hook", "secret", whole, NOW)
    assert isinstance(outcome, Sent | NotSent)
    if isinstance(outcome, NotSent):
        assert outcome.wait <= 86_400
        assert "\x1b" not in outcome.reason
