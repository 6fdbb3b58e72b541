"""Stores the App's identity, private key and webhook secrets in files that only the service's user can read.

Decision 0016 says why.
"""

import json
import os
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from cliffwatch.failure import Failure, wrong_usage
from cliffwatch_service.runtime.settings import Settings

_LEAST_BITS = 2048


@dataclass(frozen=True, slots=True, kw_only=True)
class AppIdentity:
    """The App as registered at GitHub."""

    id: int
    slug: str
    """Name in URLs."""
    name: str
    owner: str
    """Login of the owning account."""
    page: str
    """URL of the App's page."""

    @property
    def login(self) -> str:
        """Login that writes the App's comments."""
        return f"{self.slug}[bot]"


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookSecret:
    """A webhook secret."""

    secret: str = field(repr=False)
    until: datetime | None
    """When a replaced secret expires; None for the current one."""

    def holds(self, now: datetime) -> bool:
        return self.until is None or now < self.until


@dataclass(frozen=True, slots=True)
class AppFiles:
    """The folder of the App's files. Missing files read as None or empty: no App has been set up."""

    folder: Path

    def identity(self) -> AppIdentity | None:
        content = self._json("app.json")
        return None if content is None else AppIdentity(**content)

    def private_key(self) -> str | None:
        try:
            return (self.folder / "private-key.pem").read_text()
        except FileNotFoundError:
            return None

    def webhook_secrets(self) -> tuple[WebhookSecret, ...]:
        return tuple(
            WebhookSecret(
                secret=each["secret"], until=datetime.fromisoformat(each["until"]) if each["until"] else None
            )
            for each in self._json("webhook-secrets.json") or ()
        )

    def accepted_secrets(self, now: datetime) -> tuple[str, ...]:
        return tuple(each.secret for each in self.webhook_secrets() if each.holds(now))

    def keep_identity(self, identity: AppIdentity) -> None:
        self._write("app.json", json.dumps(asdict(identity), indent=2) + "\n")

    def keep_private_key(self, pem: str) -> None:
        self._write("private-key.pem", pem)

    def keep_webhook_secrets(self, secrets: tuple[WebhookSecret, ...]) -> None:
        content = [
            {"secret": each.secret, "until": each.until.isoformat() if each.until else None}
            for each in secrets
        ]
        self._write("webhook-secrets.json", json.dumps(content, indent=2) + "\n")

    def _json(self, name: str) -> Any:
        try:
            return json.loads((self.folder / name).read_text())
        except FileNotFoundError:
            return None

    def _write(self, name: str, content: str) -> None:
        """Writes a file atomically. Concurrent readers see the old file or the new one."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        writing = self.folder / f".{name}.writing"
        writing.unlink(missing_ok=True)
        with os.fdopen(os.open(writing, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        writing.replace(self.folder / name)


def app_files(settings: Settings) -> AppFiles:
    return AppFiles(settings.github_secrets or settings.data_dir / "github")


def find_key_problem(pem: str) -> Failure | None:
    """Returns why a text is not the private key of an App; None if it is."""
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415 - 15 MB, which a service without a GitHub App does without
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey  # noqa: PLC0415 - as above
    from cryptography.hazmat.primitives.serialization import load_pem_private_key  # noqa: PLC0415 - as above

    try:
        key = load_pem_private_key(pem.encode(), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if isinstance(key, RSAPrivateKey) and key.key_size >= _LEAST_BITS:
        return None
    return wrong_usage(
        "this is no private key of a GitHub App (RSA, PEM, without a password)",
        "make one on the App's page under `Private keys`, and name the .pem file that the browser downloads",
    )
