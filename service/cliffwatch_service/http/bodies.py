"""Receives a request's whole body before the application runs. Limits its size and time, and refuses NUL.

A body larger than 256 KiB is kept in a temporary file. It is decompressed in a thread after all of it has
arrived. The event loop only moves pieces, so a large body does not delay other requests.
"""

import asyncio
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO

import anyio
from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cliffwatch_service.http.addresses import address_of
from cliffwatch_service.http.room import Room
from cliffwatch_service.http.unpacking import ENCODINGS, decompress
from cliffwatch_service.refusal import Refusal
from cliffwatch_service.runtime.memory import release_freed_memory

WRITING = frozenset({"POST", "PUT", "PATCH", "DELETE"})
"""Methods whose requests have a body and change something."""

SECONDS = 120.0
"""Longest time for a whole body, so half-sent bodies do not occupy room for ever."""

GRACE_SECONDS = 10.0
"""Time at the start in which a body may be slower than `SLOWEST_RATE`."""

SLOWEST_RATE = 16 << 10
"""Bytes per second that a body must average after the grace period."""

_UNPACKERS = 2
"""Bodies that are decompressed at the same time."""

_IN_MEMORY = 1 << 18
"""Bytes from which a body is written to a file."""

_PIECE = 1 << 16

_MUCH = 1 << 20
"""Bytes of closed bodies after which free memory is returned to the system."""

_DRAIN_SECONDS = 10.0
"""Longest time to read the rest of a refused body."""


class Body:
    """The bytes of a body. Takes room from `room` in the name of `who` and gives it back on `close`."""

    def __init__(self, room: Room, who: str, folder: Path) -> None:
        self._room, self._who = room, who
        self.size = 0
        # Under the data directory, because the system's folder for temporary files may be in memory.
        self.file: IO[bytes] = tempfile.SpooledTemporaryFile(_IN_MEMORY, dir=str(folder))  # noqa: SIM115

    def write(self, part: bytes) -> None:
        self._room.take(self._who, len(part))
        self.size += len(part)
        self.file.write(part)

    def content(self) -> bytes:
        self.file.seek(0)
        return self.file.read()

    def close(self) -> None:
        self.file.close()
        self._room.give_back(self._who, self.size)


async def body_content(request: Request) -> bytes:
    """Returns a request's whole body. Reads it in a thread."""
    body: Body = request.scope["state"]["body"]
    return await run_sync(body.content)


class BodyLimits:
    """ASGI middleware that puts the received `Body` into the request's state as `body`.

    - `room`: limits the bytes of all bodies and of each caller's.
    - `folder`: where the temporary files are.
    - `limit_of`: the most bytes that a path's body may have, before and after decompression.
    - `refused`: makes the response to a refusal.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        room: Room,
        folder: Path,
        limit_of: Callable[[str], int],
        refused: Callable[[Request, Refusal], Response],
    ) -> None:
        self._app, self._room, self._folder, self._limit_of, self._refused = (
            app,
            room,
            folder,
            limit_of,
            refused,
        )
        self._unpackers: anyio.CapacityLimiter | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] not in WRITING:
            await self._app(scope, receive, send)
            return
        receive = TrackedReceive(receive)
        bodies: list[Body] = []
        try:
            try:
                body = await self._body(scope, receive, bodies)
            except Refusal as refusal:
                await drain(receive)
                await self._refused(Request(scope), refusal)(scope, receive, send)
                return
            if body is None:
                return  # the client has disconnected
            scope.setdefault("state", {})["body"] = body
            dropped = (b"content-encoding", b"content-length")
            plain = [(name, value) for name, value in scope["headers"] if name not in dropped]
            scope = {**scope, "headers": [*plain, (b"content-length", str(body.size).encode())]}
            await self._app(scope, _replaying(body, receive), send)
        finally:
            await run_sync(_close, bodies)

    async def _body(self, scope: Scope, receive: Receive, bodies: list[Body]) -> Body | None:
        """Returns the decompressed, checked body; None if the client disconnects early. Raises Refusal."""
        limit = self._limit_of(scope["path"])
        encoding = _encoding(scope)
        _refuse_announced(scope, limit)
        packed = await run_sync(self._fresh, scope, bodies)
        if not await _receive_body(packed, receive, limit):
            return None
        body = packed
        if encoding:
            body = await run_sync(self._fresh, scope, bodies)
            self._unpackers = self._unpackers or anyio.CapacityLimiter(_UNPACKERS)
            await run_sync(_unpack, packed, body, encoding, limit, limiter=self._unpackers)
        if _header(scope, b"content-type").startswith("application/json"):
            await run_sync(_refuse_nul, body)
        return body

    def _fresh(self, scope: Scope, bodies: list[Body]) -> Body:
        bodies.append(Body(self._room, _holder(scope), self._folder))
        return bodies[-1]


def _close(bodies: list[Body]) -> None:
    size = sum(each.size for each in bodies)
    for each in bodies:
        each.close()
    if size > _MUCH:
        release_freed_memory()


def _holder(scope: Scope) -> str:
    """The caller that a body's room is counted under: the token, or the address if there is none."""
    caller = scope.get("state", {}).get("caller")
    return f"at {address_of(scope)}" if caller is None else f"token {caller.token_id}"


class TrackedReceive:
    """A `receive` that remembers whether the body has ended. Then only a disconnect can follow."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self.ended = False

    async def __call__(self) -> Message:
        message = await self._receive()
        self.ended = message["type"] == "http.disconnect" or not message.get("more_body", False)
        return message


async def drain(receive: TrackedReceive) -> None:
    """Reads the rest of a refused body for up to 10 s: a client that still sends would miss the response."""
    try:
        async with asyncio.timeout(_DRAIN_SECONDS):
            while not receive.ended:
                await receive()
    except TimeoutError:
        return


def _header(scope: Scope, name: bytes) -> str:
    return next(
        (value.decode("latin-1").strip().lower() for key, value in scope["headers"] if key == name), ""
    )


def _encoding(scope: Scope) -> str:
    encoding = _header(scope, b"content-encoding").replace("identity", "")
    if encoding and encoding not in ENCODINGS:
        raise Refusal(
            415, "unknown encoding", f"compress the body with gzip or zstd, not with {encoding[:40]!r}"
        )
    return encoding


def _refuse_announced(scope: Scope, limit: int) -> None:
    length = _header(scope, b"content-length")
    if length.isdecimal() and int(length[:20]) > limit:
        raise _too_large(limit)


def _too_large(limit: int) -> Refusal:
    return Refusal(
        413,
        "body too large",
        f"a body may have {limit} bytes here, before and after decompression; send it in parts",
    )


async def _receive_body(body: Body, receive: Receive, limit: int) -> bool:
    """Receives a body into `body`. Returns False if the client disconnects early. Raises Refusal."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    try:
        async with asyncio.timeout_at(began + GRACE_SECONDS) as deadline:
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    return False
                part = message.get("body", b"")
                if body.size + len(part) > limit:
                    raise _too_large(limit)
                await _write_part(body, part)
                deadline.reschedule(began + min(SECONDS, GRACE_SECONDS + body.size / SLOWEST_RATE))
                if not message.get("more_body", False):
                    return True
    except TimeoutError:
        raise Refusal(
            408,
            "body too slow",
            f"a body must arrive at {SLOWEST_RATE >> 10} KiB/s or more, in {SECONDS:.0f} s: send it again",
        ) from None


async def _write_part(body: Body, part: bytes) -> None:
    if body.size + len(part) <= _IN_MEMORY:
        body.write(part)
    else:
        await run_sync(body.write, part)


def _unpack(packed: Body, body: Body, encoding: str, limit: int) -> None:
    packed.file.seek(0)
    for piece in decompress(packed.file, encoding):
        if body.size + len(piece) > limit:
            raise _too_large(limit)
        body.write(piece)


def _refuse_nul(body: Body) -> None:
    """Refuses JSON that contains a NUL character, plain or escaped: PostgreSQL's text cannot store it."""
    content = body.content()
    position = content.find(b"\0")
    escape = content.find(b"\\u0000")
    while position < 0 and escape >= 0:
        # After an odd number of backslashes the escape is itself escaped: ordinary text, not a NUL.
        if _backslashes_before(content, escape) % 2 == 0:
            position = escape
        escape = content.find(b"\\u0000", escape + 1)
    if position >= 0:
        raise Refusal(
            400, "NUL in the body", f"the body has a NUL character at byte {position}: send it without"
        )


def _backslashes_before(content: bytes, position: int) -> int:
    """The number of consecutive backslashes that end at `position`."""
    size = 64
    while True:
        before = content[max(0, position - size) : position]
        run = len(before) - len(before.rstrip(b"\\"))
        if run < len(before) or len(before) == position:
            return run
        size *= 4


def _replaying(body: Body, receive: Receive) -> Receive:
    """A `receive` for the application: yields the stored body, then the client's own messages."""
    position = 0
    ended = False

    async def replay() -> Message:
        nonlocal position, ended
        if ended:
            return await receive()
        piece = _piece(body, position) if body.size <= _IN_MEMORY else await run_sync(_piece, body, position)
        position += len(piece)
        ended = position >= body.size
        return {"type": "http.request", "body": piece, "more_body": not ended}

    return replay


def _piece(body: Body, position: int) -> bytes:
    body.file.seek(position)
    return body.file.read(_PIECE)
