"""Answers: JSON with an ETag, and lists of which each page says where the next one begins."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any

import orjson
from fastapi import Request
from fastapi.responses import Response, StreamingResponse
from pydantic import BaseModel

from cliffwatch.formats.values import FreeJson
from cliffwatch.trees.addresses import without_credentials
from cliffwatch_service.api.models.lists import Page
from cliffwatch_service.http.streaming import EndingStream
from cliffwatch_service.ingest.ingest import content_digest

JSON = "application/json"

_WHOLE = 1 << 16
"""Bytes of an answer that is sent at once."""


def answer(request: Request, content: Any, *, status: int = 200) -> Response:
    """A JSON answer; 304 where the client has this very content."""
    body = orjson.dumps(content, default=_members, option=orjson.OPT_UTC_Z)
    return answer_bytes(request, body, JSON, status=status)


def _members(content: Any) -> FreeJson:
    """Of what is answered as the API's description says it."""
    if isinstance(content, BaseModel):
        return dict(content)
    raise TypeError(type(content).__name__)


def answer_bytes(
    request: Request, body: bytes, media_type: str, *, status: int = 200, tag: str | None = None
) -> Response:
    if media_type == JSON and b"://" in body:
        body = without_credentials(body.decode()).encode()
    headers, known = _tagged(request, tag or content_digest(body))
    if known:
        return Response(status_code=304, headers=headers)
    if len(body) <= _WHOLE:
        return Response(body, status, headers=headers, media_type=media_type)
    headers["Content-Length"] = str(len(body))
    return StreamingResponse(_cut(body), status, headers=headers, media_type=media_type)


def answer_known(request: Request, tag: str) -> Response | None:
    """304 if the client has the content of this tag."""
    headers, known = _tagged(request, tag)
    return Response(status_code=304, headers=headers) if known else None


def answer_pieces(
    request: Request,
    pieces: Iterator[bytes],
    media_type: str,
    *,
    tag: str,
    size: int,
    ended: Callable[[], None] = lambda: None,
) -> Response:
    """An answer that is never whole in memory; `tag` is another one for another content. `ended` is called after it, however it ends."""
    headers, known = _tagged(request, tag)
    if known:
        ended()
        return Response(status_code=304, headers=headers)
    headers["Content-Length"] = str(size)
    return EndingStream(pieces, headers=headers, media_type=media_type, ended=ended)


def _tagged(request: Request, tag: str) -> tuple[dict[str, str], bool]:
    """The headers of an answer, and whether the client has it already."""
    etag = f'W/"{tag}"'
    known = [each.strip() for each in request.headers.get("if-none-match", "").split(",")]
    return {"ETag": etag, "Cache-Control": "no-cache"}, request.method == "GET" and (
        etag in known or "*" in known
    )


async def _cut(body: bytes) -> AsyncIterator[bytes]:
    """In pieces: a large answer is packed piece by piece between other requests, not in one go before all of them."""
    for start in range(0, len(body), _WHOLE):
        yield body[start : start + _WHOLE]
        await asyncio.sleep(0)


def page(
    items: Sequence[Any], limit: int, cursor: Callable[[Any], str], show: Callable[[Any], Any]
) -> Page[Any]:
    """A page of a list that was read with one item more than asked for: `next` is null on the last one."""
    shown = items[:limit]
    following = cursor(shown[-1]) if len(items) > limit else None
    return Page(items=[show(each) for each in shown], next=following)
