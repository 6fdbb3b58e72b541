"""Cursors: positions in lists, as opaque names that a client hands back."""

import base64
import binascii
from collections.abc import Callable
from datetime import date, datetime
from typing import Any

import orjson

from cliffwatch_service.refusal import Refusal


def cursor_of(*key: Any) -> str:
    """An opaque name of a position in a list."""
    plain = [each.isoformat() if isinstance(each, (datetime, date)) else each for each in key]
    return base64.urlsafe_b64encode(orjson.dumps(plain, default=str)).decode().rstrip("=")


def read_cursor(cursor: str | None, *kinds: Callable[[Any], Any]) -> tuple[Any, ...]:
    """The position that a cursor names, None for each part without one. Raises Refusal for what is none of ours."""
    if cursor is None:
        return (None,) * len(kinds)
    try:
        content = orjson.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        return tuple(kind(each) for kind, each in zip(kinds, content, strict=True))
    except (binascii.Error, ValueError, TypeError, OverflowError):
        raise Refusal(
            422, "invalid cursor", "this cursor belongs to no list of this service: start without one"
        ) from None


def identity(value: Any) -> int:
    """A row's number in a cursor."""
    number = int(value)
    if not 0 <= number < 2**63:
        raise ValueError("out of range")
    return number


def moment(value: Any) -> datetime:
    parsed = datetime.fromisoformat(value)
    if parsed.tzinfo is None:
        raise ValueError("no time zone")
    return parsed
