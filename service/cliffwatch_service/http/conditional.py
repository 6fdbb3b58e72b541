"""Conditional requests: a client that has the content already gets no body."""

from collections.abc import Mapping

from fastapi import Request
from fastapi.responses import Response

from cliffwatch.identities import digest_of


def etag_of(request: Request, tag: str) -> tuple[str, bool]:
    """Returns the weak ETag of a tag, and whether the client has its content already."""
    etag = f'W/"{tag}"'
    known = [each.strip() for each in request.headers.get("if-none-match", "").split(",")]
    return etag, request.method == "GET" and (etag in known or "*" in known)


def cached(request: Request, content: bytes, media_type: str, headers: Mapping[str, str]) -> Response:
    """Answers with content and its ETag; with 304 if the client has it already."""
    etag, known = etag_of(request, digest_of(content.decode())[:32])
    together = {**headers, "ETag": etag}
    if known:
        return Response(status_code=304, headers=together)
    return Response(content, headers=together, media_type=media_type)
