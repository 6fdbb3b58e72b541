"""A name that the settings allow and whose DNS leads into the service's own network a moment later: nothing
is said there.
"""

import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from cliffwatch_service.history.news import webhook
from cliffwatch_service.history.news.mail import Letter, send_mail
from cliffwatch_service.history.news.sending import NotSent
from cliffwatch_service.history.news.webhook import send_webhook
from cliffwatch_service.runtime.settings import Settings

NOW = datetime(2026, 11, 25, tzinfo=UTC)
NAME = "hooks.example.org"
LETTER = Letter(
    to="bpf@lists.example.org", subject="s", text="t", identity="i", before=(), manage="https://x.example"
)


@dataclass
class Internal:
    """A service of the same machine that has a certificate of its own; `heard` is what came after the
    handshake.
    """

    port: int
    heard: list[bytes] = field(default_factory=list)
    tried: int = 0


@pytest.fixture
def internal(tmp_path: Path) -> Iterator[Internal]:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    words = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "1",
        "-subj",
        "/CN=vault.internal",
    ]
    subprocess.run([*words, "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        known = Internal(listening.getsockname()[1])

        def serve() -> None:
            with suppress(OSError):
                while True:
                    taken, _ = listening.accept()
                    known.tried += 1
                    with taken, suppress(OSError), context.wrap_socket(taken, server_side=True) as spoken:
                        known.heard.append(spoken.recv(1000))

        thread = threading.Thread(target=serve)
        thread.start()
        yield known
        listening.shutdown(socket.SHUT_RDWR)
        thread.join()


@pytest.fixture
def rebound(monkeypatch: pytest.MonkeyPatch) -> None:
    """The name leads to this machine."""
    real = socket.getaddrinfo

    def getaddrinfo(host: Any, *given: Any, **named: Any) -> Any:
        return real("127.0.0.1" if host in (NAME, NAME.encode()) else host, *given, **named)

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    monkeypatch.setattr(webhook, "body_of", lambda _: b'{"secret": 1}')


@pytest.mark.usefixtures("rebound")
def test_a_webhook_says_nothing_to_who_is_not_the_name(internal: Internal, tmp_path: Path) -> None:
    """Webhooks are https anywhere but at this machine, and only the name's owner has a certificate for it."""
    settings = Settings(data_dir=tmp_path, news_webhooks=(f"https://{NAME}:{internal.port}/",))
    whole: Any = type("Whole", (), {"news": type("News", (), {"digest": "d"})()})()
    outcome = send_webhook(settings, f"https://{NAME}:{internal.port}/hook", "secret", whole, NOW)
    assert isinstance(outcome, NotSent)
    assert "certificate" in outcome.reason.lower()
    assert internal.tried == 1
    assert [each for each in internal.heard if each] == []


@pytest.mark.usefixtures("rebound")
@pytest.mark.parametrize("security", ["tls"])
def test_a_mail_server_that_is_not_the_name_gets_no_password(
    internal: Internal, tmp_path: Path, security: Any
) -> None:
    settings = Settings(
        data_dir=tmp_path,
        mail_server=f"{NAME}:{internal.port}",
        mail_security=security,
        mail_user="me",
        mail_password="secret",  # type: ignore[arg-type]
        mail_from="cliffwatch@example.org",
        news_mail=("bpf@lists.example.org",),
    )
    outcome = send_mail(settings, LETTER, NOW)
    assert isinstance(outcome, NotSent)
    assert "certificate" in outcome.reason.lower()
    assert internal.tried == 1
    assert [each for each in internal.heard if each] == []
