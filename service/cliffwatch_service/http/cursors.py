"""Cursors: opaque positions in lists, which a client sends back to get the next page."""

import base64
import binascii
from collections.abc import Callable
from datetime import date, datetime
from typing import Any

import orjson

from cliffwatch_service.refusal import Refusal


def cursor_of(*key: Any) -> str:
    """Encodes a position in a list: the sort key of its last row."""
    plain = [each.isoformat() if isinstance(each, (datetime, date)) else each for each in key]
    return base64.urlsafe_b64encode(orjson.dumps(plain, default=str)).decode().rstrip("=")


def read_cursor(cursor: str | None, *kinds: Callable[[Any], Any]) -> tuple[Any, ...]:
    """Decodes a cursor into its parts, each read by one of `kinds`. Raises Refusal if the cursor is invalid.

    Without a cursor every part is None.
    """
    if cursor is None:
        return (None,) * len(kinds)
    try:
        content = orjson.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        return tuple(kind(each) for kind, each in zip(kinds, content, strict=True))
    except (binascii.Error, ValueError, TypeError, OverflowError):
        raise Refusal(
            422, "invalid cursor", "this cursor is not from this list: start without a cursor"
        ) from None


def identity(value: Any) -> int:
    """Reads a row's number. Raises ValueError if it does not fit a bigint."""
    number = int(value)
    if not 0 <= number < 2**63:
        raise ValueError("out of range")
    return number


def moment(value: Any) -> datetime:
    """Reads a time. Raises ValueError if it has no time zone."""
    parsed = datetime.fromisoformat(value)
    if parsed.tzinfo is None:
        raise ValueError("no time zone")
    return parsed
