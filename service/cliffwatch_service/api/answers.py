"""Responses: JSON with an ETag, and pages of lists with a cursor to the next page."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any, TypeVar

import orjson
from fastapi import Request
from fastapi.responses import Response, StreamingResponse
from pydantic import BaseModel

from cliffwatch.formats.values import FreeJson
from cliffwatch.trees.addresses import without_credentials
from cliffwatch_service.api.models.lists import Page
from cliffwatch_service.http.conditional import etag_of
from cliffwatch_service.http.streaming import EndingStream
from cliffwatch_service.ingest.ingest import content_digest

JSON = "application/json"

Model = TypeVar("Model", bound=BaseModel)

_WHOLE = 1 << 16
"""Bytes up to which a response is sent in one piece."""


def answer(request: Request, content: Any, *, status: int = 200) -> Response:
    """Makes a JSON response; 304 if the client has the same content."""
    body = orjson.dumps(content, default=_members, option=orjson.OPT_UTC_Z)
    return answer_bytes(request, body, JSON, status=status)


def _members(content: Any) -> FreeJson:
    """Converts API models for orjson. Raises TypeError for anything else."""
    if isinstance(content, BaseModel):
        return dict(content)
    raise TypeError(type(content).__name__)


def answer_bytes(
    request: Request, body: bytes, media_type: str, *, status: int = 200, tag: str | None = None
) -> Response:
    """Makes a response; 304 if the client has the same content. Removes credentials from URLs in JSON.

    `tag` identifies the content. If it is None, the tag is the digest of the body.
    """
    if media_type == JSON and b"://" in body:
        body = without_credentials(body.decode()).encode()
    headers, known = _cache_headers(request, tag or content_digest(body))
    if known:
        return Response(status_code=304, headers=headers)
    if len(body) <= _WHOLE:
        return Response(body, status, headers=headers, media_type=media_type)
    headers["Content-Length"] = str(len(body))
    return StreamingResponse(_split_body(body), status, headers=headers, media_type=media_type)


def not_modified(request: Request, tag: str) -> Response | None:
    """Returns a 304 response if the client has the content with this tag, else None."""
    headers, known = _cache_headers(request, tag)
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
    """Streams a response that is never whole in memory; 304 if the client has the same content.

    - `tag`: identifies the content.
    - `size`: total bytes of the pieces.
    - `ended`: is called when the response ends for whatever reason.
    """
    headers, known = _cache_headers(request, tag)
    if known:
        ended()
        return Response(status_code=304, headers=headers)
    headers["Content-Length"] = str(size)
    return EndingStream(pieces, headers=headers, media_type=media_type, ended=ended)


def _cache_headers(request: Request, tag: str) -> tuple[dict[str, str], bool]:
    """Returns the headers of a response, and whether the client has its content already."""
    etag, known = etag_of(request, tag)
    return {"ETag": etag, "Cache-Control": "no-cache"}, known


async def _split_body(body: bytes) -> AsyncIterator[bytes]:
    """Yields a large body in pieces, so that other requests run between the compression of two pieces."""
    for start in range(0, len(body), _WHOLE):
        yield body[start : start + _WHOLE]
        await asyncio.sleep(0)


def page(
    items: Sequence[Any], limit: int, cursor: Callable[[Any], str], show: Callable[[Any], Any]
) -> Page[Any]:
    """Makes a page of a list. `items` has one item more than `limit` if there is a next page."""
    shown = items[:limit]
    following = cursor(shown[-1]) if len(items) > limit else None
    return Page(items=[show(each) for each in shown], next=following)


def take(model: type[Model], row: object, **given: Any) -> Model:
    """Makes a response model from a row: fields of the same name, and those given."""
    return model(**{name: getattr(row, name) for name in model.model_fields if name not in given}, **given)
