"""Reads a request's body before anything else does: unpacks it, and holds its size, its time and its text to limits."""

import asyncio
import re
import zlib
from collections.abc import Callable, Iterator

import zstandard
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cliffwatch_service.http.problems import problem_response
from cliffwatch_service.refusal import Refusal

SECONDS = 120.0
"""A body that is not here by then is given up: half-sent ones hold nothing up."""

SMALL_BYTES = 1 << 20
"""What a body may have where no large one belongs."""

_NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")
_CHUNK = 1 << 16
_DRAINED = 256 << 20
_DRAIN_SECONDS = 20.0


class BodyLimits:
    """ASGI middleware. `large` says which paths may carry up to `largest` bytes, unpacked."""

    def __init__(self, app: ASGIApp, *, largest: int, large: Callable[[str], bool]) -> None:
        self._app, self._largest, self._large = app, largest, large

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] not in ("POST", "PUT", "PATCH", "DELETE"):
            await self._app(scope, receive, send)
            return
        receive = _Once(receive)
        limit = self._largest if self._large(scope["path"]) else min(SMALL_BYTES, self._largest)
        try:
            async with asyncio.timeout(SECONDS):
                body = await _read(receive, _header(scope, b"content-encoding"), limit)
            if body is None:
                return  # the client has gone, there is nobody to answer
            if _header(scope, b"content-type").startswith("application/json"):
                _refuse_nul(body)
        except TimeoutError:
            slow = Refusal(408, "body too slow", f"the body did not arrive within {SECONDS:.0f} seconds: send it again")
            await problem_response(slow)(scope, receive, send)
            return
        except Refusal as refusal:
            await _drain(receive)
            await problem_response(refusal)(scope, receive, send)
            return
        plain = [
            (name, value) for name, value in scope["headers"] if name not in (b"content-encoding", b"content-length")
        ]
        scope = {**scope, "headers": [*plain, (b"content-length", str(len(body)).encode())]}
        await self._app(scope, _replaying(body, receive), send)


class _Once:
    """The body's messages, of which the last one is known: after it there is nothing to wait for but the client's going."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self.ended = False

    async def __call__(self) -> Message:
        message = await self._receive()
        self.ended = message["type"] == "http.disconnect" or not message.get("more_body", False)
        return message


async def _drain(receive: _Once) -> None:
    """Takes the rest of a refused body, within reason: a client that still sends would not see the answer."""
    left = _DRAINED
    try:
        async with asyncio.timeout(_DRAIN_SECONDS):
            while left > 0 and not receive.ended:
                left -= len((await receive()).get("body", b""))
    except TimeoutError:
        return


def _header(scope: Scope, name: bytes) -> str:
    return next((value.decode("latin-1").strip().lower() for key, value in scope["headers"] if key == name), "")


async def _read(receive: Receive, encoding: str, limit: int) -> bytes | None:
    """The whole body, unpacked; None where the client went before its end."""
    unpack = _unpacking(encoding)
    parts: list[bytes] = []
    size = packed = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        last = not message.get("more_body", False)
        packed += len(message.get("body", b""))
        if packed > limit:
            raise Refusal(413, "body too large", f"a body may have {limit} bytes here, packed or not; send it in parts")
        for part in unpack(message.get("body", b""), last):
            size += len(part)
            if size > limit:
                raise Refusal(413, "body too large", f"a body may have {limit} bytes here, unpacked; send it in parts")
            parts.append(part)
        if last:
            return b"".join(parts)


def _unpacking(encoding: str) -> Callable[[bytes, bool], Iterator[bytes]]:
    if encoding in ("", "identity"):
        return lambda part, _: iter((part,))
    if encoding == "gzip":
        return _Gzip()
    if encoding == "zstd":
        return _Zstd()
    raise Refusal(415, "unknown encoding", f"a body may be packed with gzip or zstd, not with {encoding[:40]!r}")


class _Gzip:
    """Piece by piece, so that a bomb is found out before it is unpacked."""

    def __init__(self) -> None:
        self._inflate = zlib.decompressobj(wbits=31)

    def __call__(self, part: bytes, last: bool) -> Iterator[bytes]:
        try:
            while part:
                yield self._inflate.decompress(part, _CHUNK)
                part = self._inflate.unconsumed_tail
        except zlib.error as error:
            raise Refusal(400, "damaged body", f"the gzip body cannot be unpacked: {error}") from None
        if last and (not self._inflate.eof or self._inflate.unused_data):
            raise Refusal(400, "damaged body", "the gzip body ends too early or goes on after its end")


class _Zstd:
    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def __call__(self, part: bytes, last: bool) -> Iterator[bytes]:
        self._parts.append(part)
        if not last:
            return
        try:
            # One frame only, a piece at a time.
            decompressor = zstandard.ZstdDecompressor(max_window_size=1 << 27)
            packed = b"".join(self._parts)
            with decompressor.stream_reader(packed, read_across_frames=False) as reader:
                while chunk := reader.read(_CHUNK):
                    yield chunk
        except zstandard.ZstdError as error:
            raise Refusal(400, "damaged body", f"the zstd body cannot be unpacked: {error}") from None


def _refuse_nul(body: bytes) -> None:
    """PostgreSQL holds no NUL in text, and no name or message of ours has one."""
    # The plain look first: the expression takes thirty times as long, and hardly any body has such a text.
    found = _NUL.search(body) if b"\\u0000" in body else None
    if b"\0" in body or found is not None:
        place = found.start() if found is not None else body.index(b"\0")
        raise Refusal(400, "NUL in the body", f"there is a NUL character at byte {place}")


def _replaying(body: bytes, receive: Receive) -> Receive:
    sent = False

    async def replay() -> Message:
        nonlocal sent
        if not sent:
            sent = True
            return {"type": "http.request", "body": body, "more_body": False}
        return await receive()

    return replay
