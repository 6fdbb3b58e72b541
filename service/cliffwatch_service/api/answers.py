"""Answers: JSON with an ETag, and lists of which each page says where the next one begins."""

import base64
import binascii
from collections.abc import Callable, Sequence
from datetime import date, datetime
from typing import Any

import orjson
from fastapi import Request
from fastapi.responses import Response

from cliffwatch_service.ingest import content_digest
from cliffwatch_service.refusal import Refusal

JSON = "application/json"


def answer(request: Request, content: Any, *, status: int = 200) -> Response:
    """A JSON answer; 304 where the client has this very content."""
    return answer_bytes(request, orjson.dumps(content, option=orjson.OPT_UTC_Z), JSON, status=status)


def answer_bytes(
    request: Request, body: bytes, media_type: str, *, status: int = 200, tag: str | None = None
) -> Response:
    etag = f'W/"{tag or content_digest(body)}"'
    headers = {"ETag": etag, "Cache-Control": "no-cache"}
    known = [each.strip() for each in request.headers.get("if-none-match", "").split(",")]
    if request.method == "GET" and (etag in known or "*" in known):
        return Response(status_code=304, headers=headers)
    return Response(body, status, headers=headers, media_type=media_type)


def cursor_of(*place: Any) -> str:
    """An opaque name of a place in a list."""
    plain = [each.isoformat() if isinstance(each, (datetime, date)) else each for each in place]
    return base64.urlsafe_b64encode(orjson.dumps(plain, default=str)).decode().rstrip("=")


def place_of(cursor: str | None, *kinds: Callable[[Any], Any]) -> tuple[Any, ...]:
    """The place that a cursor names, None for each part without one. Raises Refusal for what is none of ours."""
    if cursor is None:
        return (None,) * len(kinds)
    try:
        content = orjson.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        return tuple(kind(each) for kind, each in zip(kinds, content, strict=True))
    except (binascii.Error, ValueError, TypeError, OverflowError):
        raise Refusal(422, "invalid cursor", "this cursor is of no list here: begin without one") from None


def identity(value: Any) -> int:
    """A row's number in a cursor."""
    number = int(value)
    if not 0 <= number < 2**63:
        raise ValueError("out of range")
    return number


def moment(value: Any) -> datetime:
    found = datetime.fromisoformat(value)
    if found.tzinfo is None:
        raise ValueError("no time zone")
    return found


def page(items: Sequence[Any], limit: int, cursor: Callable[[Any], str], show: Callable[[Any], Any]) -> dict[str, Any]:
    """A page of a list that was read with one item more than asked for: `next` is null on the last one."""
    shown = items[:limit]
    following = cursor(shown[-1]) if len(items) > limit else None
    return {"items": [show(each) for each in shown], "next": following}
