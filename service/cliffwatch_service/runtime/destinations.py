"""Where news may go: checks addresses against those that the settings allow. News goes nowhere else. Pure."""

import re
from collections.abc import Sequence
from typing import Literal
from urllib.parse import unquote, urlsplit

from cliffwatch.failure import Failure, wrong_usage

_MAIL = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?")
_REPOSITORY = re.compile(r"[\w-][\w.-]{0,99}/[\w-][\w.-]{0,99}", re.ASCII)
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


def mail_addresses(given: tuple[str, ...]) -> tuple[str, ...]:
    """Returns `given`, checked: mail addresses, or `@domain` for a whole domain. Raises ValueError."""
    for each in given:
        if not _MAIL.fullmatch(f"x{each}" if each.startswith("@") else each):
            raise ValueError(f"{each[:100]!r} is neither a mail address nor @domain")
    return given


def webhook_addresses(given: tuple[str, ...]) -> tuple[str, ...]:
    """Returns `given`, checked: URLs at or below which webhooks may lie. Raises ValueError."""
    for each in given:
        refused = refuse_webhook(each)
        if refused is not None:
            raise ValueError(str(refused))
    return given


def repositories(given: tuple[str, ...]) -> tuple[str, ...]:
    """Returns `given`, checked: each is OWNER/NAME. Raises ValueError."""
    for each in given:
        if not is_repository(each):
            raise ValueError(f"{each[:100]!r} is not a repository: write OWNER/NAME")
    return given


def is_repository(address: str) -> bool:
    return _REPOSITORY.fullmatch(address) is not None


def is_mail(address: str) -> bool:
    return _MAIL.fullmatch(address) is not None


def channel_of(address: str) -> Literal["mail", "webhook", "issue"] | None:
    """Returns how news reaches an address, by its form; None if no channel fits. At most one channel fits."""
    if "://" in address:
        return "webhook"
    return "mail" if is_mail(address) else "issue" if is_repository(address) else None


def allows_mail(allowed: Sequence[str], address: str) -> bool:
    """Whether this address or its exact domain is allowed. A subdomain of an allowed domain is not."""
    low = address.lower()
    return is_mail(address) and any(
        low == each.lower() or f"@{low.partition('@')[2]}" == each.lower() for each in allowed
    )


def allows_repository(allowed: Sequence[str], name: str) -> bool:
    return is_repository(name) and name.lower() in map(str.lower, allowed)


def refuse_webhook(address: str) -> Failure | None:
    """Refuses an address that cannot be a webhook's, or that URL parsers read differently."""

    def refuse(why: str) -> Failure:
        return wrong_usage(f"{address[:100]!r}: {why}", "give one such as https://chat.example.org/hooks/1")

    if not address.isascii() or not address.isprintable() or any(each in address for each in ' \\"<>^`{|}#'):
        return refuse("it contains characters that URLs do not allow")
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        return refuse("it is not a URL")
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _LOOPBACK):
        return refuse("it must be https://…, or http:// on this machine")
    if parts.hostname is None or "@" in parts.netloc or "%" in parts.netloc or port == 0:
        return refuse("must name a host, without a user")
    if any(
        unquote(part) in (".", "..") or "/" in unquote(part) or "\\" in unquote(part)
        for part in parts.path.split("/")
    ):
        return refuse("its path must not lead upwards")
    return None


def allows_webhook(allowed: Sequence[str], address: str) -> bool:
    """Whether the address lies at or below an allowed one: same scheme, host and port, and below its path."""
    return refuse_webhook(address) is None and any(_lies_below(each, address) for each in allowed)


def _lies_below(allowed: str, address: str) -> bool:
    ours, theirs = urlsplit(allowed), urlsplit(address)
    if _origin(allowed) != _origin(address):
        return False
    above = ours.path.rstrip("/")
    if ours.query:
        return (theirs.path, theirs.query) == (ours.path, ours.query)
    return theirs.path in (ours.path, above) or theirs.path.startswith(f"{above}/")


def _origin(address: str) -> tuple[str, str | None, int]:
    parts = urlsplit(address)
    return parts.scheme, parts.hostname, parts.port or (443 if parts.scheme == "https" else 80)
