"""What GitHub sends: the published examples of every webhook, and deliveries made of them with what a test
wants to be so.
"""

import hashlib
import hmac
import json
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from github_stand_in.answers import merged
from github_stand_in.installed import octokit


@dataclass(frozen=True)
class Delivery:
    """A webhook as it arrives."""

    event: str
    headers: dict[str, str]
    body: bytes


@cache
def _examples() -> list[dict[str, Any]]:
    content: list[dict[str, Any]] = json.loads(
        (octokit() / "webhooks-examples/api.github.com/index.json").read_text()
    )
    return content


def examples() -> Iterator[tuple[str, dict[str, Any]]]:
    """Event and payload of every published example."""
    for each in _examples():
        for payload in each["examples"]:
            yield each["name"], json.loads(json.dumps(payload))


def payload(event: str, action: str | None = None, **kept: Any) -> dict[str, Any]:
    """The first example of an event and action, in which what is given takes the place of what it says."""
    found = next((each for name, each in examples() if name == event and each.get("action") == action), None)
    assert found is not None, f"there is no example of {event} {action}"
    changed: dict[str, Any] = merged(found, kept)
    return changed


def delivery(event: str, content: dict[str, Any], secret: str, *, identity: str | None = None) -> Delivery:
    """Signs a payload as GitHub does; `identity` is the delivery's, a new one where none is given."""
    body = json.dumps(content, separators=(",", ":")).encode()
    headers = {
        "accept": "*/*",
        "content-type": "application/json",
        "user-agent": "GitHub-Hookshot/0000000",
        "x-github-event": event,
        "x-github-delivery": identity or str(uuid.uuid4()),
        "x-github-hook-id": "1",
        "x-github-hook-installation-target-type": "integration",
        "x-hub-signature-256": "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest(),
    }
    return Delivery(event, headers, body)
