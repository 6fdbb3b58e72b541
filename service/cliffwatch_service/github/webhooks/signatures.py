"""Verifies that GitHub signed the bytes of a webhook."""

import hashlib
import hmac
from collections.abc import Iterable

_BEGINNING = "sha256="
_LENGTH = len(_BEGINNING) + 64


def signature_of(body: bytes, secret: str) -> str:
    """Returns the value of X-Hub-Signature-256."""
    return _BEGINNING + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def signed_by_any(body: bytes, signature: str, secrets: Iterable[str]) -> bool:
    """True if one of the secrets signed these bytes. SHA-1, which GitHub also sends, does not count."""
    if len(signature) != _LENGTH or not signature.isascii():
        return False
    return any(hmac.compare_digest(signature_of(body, secret), signature) for secret in secrets)
