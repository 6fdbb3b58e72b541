"""Answers: JSON with an ETag, and lists of which each page says where the next one begins."""

from collections.abc import Callable, Sequence
from typing import Any

import orjson
from fastapi import Request
from fastapi.responses import Response

from cliffwatch_service.ingest import content_digest

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


def page(items: Sequence[Any], limit: int, cursor: Callable[[Any], str], show: Callable[[Any], Any]) -> dict[str, Any]:
    """A page of a list that was read with one item more than asked for: `next` is null on the last one."""
    shown = items[:limit]
    following = cursor(shown[-1]) if len(items) > limit else None
    return {"items": [show(each) for each in shown], "next": following}
