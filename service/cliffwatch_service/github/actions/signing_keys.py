"""Public keys of GitHub's identity tokens, fetched from the issuer in the settings and cached for an hour."""

import json
import threading
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import structlog

from cliffwatch_service.refusal import Refusal

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

LASTING = timedelta(hours=1)
"""Lifetime of the cache. A key that GitHub withdrew is accepted for at most this long."""

BETWEEN_FETCHES = timedelta(minutes=1)
"""Shortest time between fetches, however many unknown keys tokens name."""

AFTER_A_FAILURE = timedelta(seconds=10)

_PATH = "/.well-known/jwks"
_SECONDS = 5.0
_LARGEST = 256 << 10
_MOST_KEYS = 100
_LEAST_BITS = 2048
_PATIENCE_SECONDS = 6.0
_log = structlog.get_logger("cliffwatch.github")


class SigningKeys:
    """Cache of an issuer's keys by name. It fetches on demand, one fetch at a time."""

    def __init__(self) -> None:
        self._known: Mapping[str, RSAPublicKey] = {}
        self._fetched: datetime | None = None
        self._not_before: datetime | None = None
        self._failing = False
        self._lock = threading.Lock()

    def key(self, name: str, issuer: str, now: datetime) -> "RSAPublicKey | None":
        """Returns the key of this name; None if the issuer has none.

        Raises Refusal (503) if the issuer cannot be asked.
        """
        if not self._lock.acquire(timeout=_PATIENCE_SECONDS):
            raise _keys_unavailable()
        try:
            fresh = self._fetched is not None and now - self._fetched < LASTING
            if fresh and name in self._known:
                return self._known[name]
            may_ask = self._not_before is None or now >= self._not_before
            if may_ask:
                self._fetch(issuer + _PATH, now)
            elif self._failing or not fresh:
                raise _keys_unavailable()
            return self._known.get(name)
        finally:
            self._lock.release()

    def _fetch(self, address: str, now: datetime) -> None:
        import httpx2  # noqa: PLC0415 - 15 MB, which a service without a GitHub App does without

        try:
            found = _keys_of(_content(address))
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError, TypeError, RecursionError) as error:
            self._not_before, self._failing = now + AFTER_A_FAILURE, True
            _log.warning(
                "signing keys not read", address=address, reason=str(error)[:300] or type(error).__name__
            )
            raise _keys_unavailable() from None
        self._known, self._fetched, self._not_before = found, now, now + BETWEEN_FETCHES
        self._failing = False
        _log.info("signing keys read", address=address, keys=len(found))


def _content(address: str) -> bytes:
    import httpx2  # noqa: PLC0415 - 15 MB, which a service without a GitHub App does without

    content = bytearray()
    with (
        httpx2.Client(timeout=_SECONDS, trust_env=False, follow_redirects=False) as http,
        http.stream("GET", address, headers={"User-Agent": "cliffwatch"}) as response,
    ):
        if response.status_code != 200:
            raise ValueError(f"it answers {response.status_code}")
        for piece in response.iter_bytes():
            content += piece
            if len(content) > _LARGEST:
                raise ValueError("the answer is too large")
    return bytes(content)


def _keys_of(content: bytes) -> "dict[str, RSAPublicKey]":
    """Returns the RSA signing keys of a key set and ignores others. Raises ValueError if there are none."""
    document = json.loads(content)
    listed = document.get("keys") if isinstance(document, dict) else None
    found = dict(_rsa_keys(listed[:_MOST_KEYS])) if isinstance(listed, list) else {}
    if not found:
        raise ValueError("the answer holds no RSA key")
    return found


def _rsa_keys(listed: list[Any]) -> "Iterator[tuple[str, RSAPublicKey]]":
    import jwt  # noqa: PLC0415 - 15 MB, which a service without a GitHub App does without
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey  # noqa: PLC0415 - as above

    for each in listed:
        if (
            not isinstance(each, dict)
            or each.get("kty") != "RSA"
            or each.get("use", "sig") != "sig"
            or "d" in each
        ):
            continue
        try:
            key = jwt.PyJWK(each, algorithm="RS256").key
        except (jwt.PyJWTError, ValueError, TypeError, KeyError):
            continue
        if isinstance(each.get("kid"), str) and isinstance(key, RSAPublicKey) and key.key_size >= _LEAST_BITS:
            yield each["kid"], key


def _keys_unavailable() -> Refusal:
    return Refusal(
        503,
        "signing keys away",
        "the keys that GitHub signs jobs' identities with cannot be read now: try again in a minute. The"
        " service's log says why, and CLIFFWATCH_GITHUB_ACTIONS_ISSUER where they are looked for",
        retry_after=30,
    )
