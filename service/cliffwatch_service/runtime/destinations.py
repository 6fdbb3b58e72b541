"""Where news may go: what the settings allow, and whether an address is of it. Pure; nothing is sent elsewhere."""

import re
from collections.abc import Sequence
from typing import Literal
from urllib.parse import unquote, urlsplit

_MAIL = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?")
_REPOSITORY = re.compile(r"[\w-][\w.-]{0,99}/[\w-][\w.-]{0,99}", re.ASCII)
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


def mail_addresses(given: tuple[str, ...]) -> tuple[str, ...]:
    """Addresses, or `@domain` for all of one. Raises ValueError."""
    for each in given:
        if not _MAIL.fullmatch(f"x{each}" if each.startswith("@") else each):
            raise ValueError(f"{each[:100]!r} is neither a mail address nor @domain")
    return given


def webhook_addresses(given: tuple[str, ...]) -> tuple[str, ...]:
    """Addresses at or below which webhooks may be. Raises ValueError."""
    for each in given:
        wrong = wrong_webhook(each)
        if wrong is not None:
            raise ValueError(f"{each[:100]!r}: {wrong}")
    return given


def repositories(given: tuple[str, ...]) -> tuple[str, ...]:
    """OWNER/NAME. Raises ValueError."""
    for each in given:
        if not is_repository(each):
            raise ValueError(f"{each[:100]!r} is no OWNER/NAME")
    return given


def is_repository(address: str) -> bool:
    return _REPOSITORY.fullmatch(address) is not None


def is_mail(address: str) -> bool:
    return _MAIL.fullmatch(address) is not None


def channel_of(address: str) -> Literal["mail", "webhook", "issue"] | None:
    """How news go to an address, by its form; None where it has none of these. No address has the form of two."""
    if "://" in address:
        return "webhook"
    return "mail" if is_mail(address) else "issue" if is_repository(address) else None


def allows_mail(allowed: Sequence[str], address: str) -> bool:
    """Whether this address is one of the allowed ones, or of an allowed domain itself; one of a domain below it is not."""
    low = address.lower()
    return is_mail(address) and any(
        low == each.lower() or f"@{low.partition('@')[2]}" == each.lower() for each in allowed
    )


def allows_repository(allowed: Sequence[str], name: str) -> bool:
    return is_repository(name) and name.lower() in map(str.lower, allowed)


def wrong_webhook(address: str) -> str | None:
    """Why an address can be none of a webhook; None where it can. What parsers read differently is none."""
    if not address.isascii() or not address.isprintable() or any(each in address for each in ' \\"<>^`{|}#'):
        return "it holds characters that addresses do not have"
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        return "it is no address"
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _LOOPBACK):
        return "must be https://…, or http:// on this machine"
    if parts.hostname is None or "@" in parts.netloc or "%" in parts.netloc or port == 0:
        return "must name a host, without a user"
    if any(
        unquote(part) in (".", "..") or "/" in unquote(part) or "\\" in unquote(part)
        for part in parts.path.split("/")
    ):
        return "its path must not lead upwards"
    return None


def allows_webhook(allowed: Sequence[str], address: str) -> bool:
    """Whether it lies at or below an allowed address: of the same scheme, host and port, and of the same first parts of the path."""
    if wrong_webhook(address) is not None:
        return False
    return any(_lies_below(each, address) for each in allowed)


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
