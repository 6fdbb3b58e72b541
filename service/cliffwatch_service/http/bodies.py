"""Takes a request's body before anything else does, and limits its size, its time and its text.

What arrives lies in a file from a quarter of a MiB on; it is unpacked in a thread once all of it is here. The event loop only
moves pieces, so that no body holds up anybody else's request.
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
from cliffwatch_service.http.unpacking import ENCODINGS, unpacked
from cliffwatch_service.refusal import Refusal
from cliffwatch_service.runtime.memory import give_back

WRITING = frozenset({"POST", "PUT", "PATCH", "DELETE"})

SECONDS = 120.0
"""A body that is not here by then is given up: half-sent ones hold nothing up."""

GRACE_SECONDS = 10.0
SLOWEST_RATE = 16 << 10
"""Bytes a second that a body must bring on average once the grace is over."""

_UNPACKERS = 2
_IN_MEMORY = 1 << 18
_PIECE = 1 << 16
_MUCH = 1 << 20
_DRAIN_SECONDS = 10.0


class Body:
    """The bytes of a body, in room that is given back when it is closed."""

    def __init__(self, room: Room, who: str, folder: Path) -> None:
        self._room, self._who = room, who
        self.size = 0
        # Under the data directory: what is there for temporary files may be memory.
        self.file: IO[bytes] = tempfile.SpooledTemporaryFile(_IN_MEMORY, dir=str(folder))  # noqa: SIM115 - closed with us

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
    """The whole of a request's body, read in a thread."""
    body: Body = request.scope["state"]["body"]
    return await run_sync(body.content)


class BodyLimits:
    """ASGI middleware. `limit_of` says how many bytes a path's body may have, unpacked; the body is in the request's state."""

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
        receive = Once(receive)
        bodies: list[Body] = []
        try:
            try:
                body = await self._body(scope, receive, bodies)
            except Refusal as refusal:
                await drain(receive)
                await self._refused(Request(scope), refusal)(scope, receive, send)
                return
            if body is None:
                return  # the client has gone, there is nobody to answer
            scope.setdefault("state", {})["body"] = body
            dropped = (b"content-encoding", b"content-length")
            plain = [(name, value) for name, value in scope["headers"] if name not in dropped]
            scope = {**scope, "headers": [*plain, (b"content-length", str(body.size).encode())]}
            await self._app(scope, _replaying(body, receive), send)
        finally:
            await run_sync(_close, bodies)

    async def _body(self, scope: Scope, receive: Receive, bodies: list[Body]) -> Body | None:
        """The body, unpacked and checked; None where the client went before its end. Raises Refusal."""
        limit = self._limit_of(scope["path"])
        encoding = _encoding(scope)
        _refuse_announced(scope, limit)
        packed = await run_sync(self._fresh, scope, bodies)
        if not await _received(packed, receive, limit):
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
        give_back()


def _holder(scope: Scope) -> str:
    """Whose room a body takes: the token's, else the address's."""
    caller = scope.get("state", {}).get("caller")
    return f"at {address_of(scope)}" if caller is None else f"token {caller.token_id}"


class Once:
    """The body's messages, of which the last one is known: after it there is nothing to wait for but the client's going."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self.ended = False

    async def __call__(self) -> Message:
        message = await self._receive()
        self.ended = message["type"] == "http.disconnect" or not message.get("more_body", False)
        return message


async def drain(receive: Once) -> None:
    """Takes the rest of a refused body, for a while: a client that still sends would not see the answer."""
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
            415, "unknown encoding", f"a body may be packed with gzip or zstd, not with {encoding[:40]!r}"
        )
    return encoding


def _refuse_announced(scope: Scope, limit: int) -> None:
    length = _header(scope, b"content-length")
    if length.isdecimal() and int(length[:20]) > limit:
        raise _too_large(limit)


def _too_large(limit: int) -> Refusal:
    return Refusal(
        413, "body too large", f"a body may have {limit} bytes here, packed or unpacked; send it in parts"
    )


async def _received(body: Body, receive: Receive, limit: int) -> bool:
    """Whether the client stayed to the body's end. Raises Refusal."""
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
                await _written(body, part)
                deadline.reschedule(began + min(SECONDS, GRACE_SECONDS + body.size / SLOWEST_RATE))
                if not message.get("more_body", False):
                    return True
    except TimeoutError:
        raise Refusal(
            408,
            "body too slow",
            f"a body must arrive at {SLOWEST_RATE >> 10} KiB/s or more and within {SECONDS:.0f} s: send it again",
        ) from None


async def _written(body: Body, part: bytes) -> None:
    if body.size + len(part) <= _IN_MEMORY:
        body.write(part)
    else:
        await run_sync(body.write, part)


def _unpack(packed: Body, body: Body, encoding: str, limit: int) -> None:
    packed.file.seek(0)
    for piece in unpacked(packed.file, encoding):
        if body.size + len(piece) > limit:
            raise _too_large(limit)
        body.write(piece)


def _refuse_nul(body: Body) -> None:
    """PostgreSQL holds no NUL in text, and no name or message of ours has one."""
    content = body.content()
    position = content.find(b"\0")
    escape = content.find(b"\\u0000")
    while position < 0 and escape >= 0:
        # An even number of backslashes before it is text that says so, and no NUL.
        if _backslashes_before(content, escape) % 2 == 0:
            position = escape
        escape = content.find(b"\\u0000", escape + 1)
    if position >= 0:
        raise Refusal(400, "NUL in the body", f"there is a NUL character at byte {position}")


def _backslashes_before(content: bytes, position: int) -> int:
    size = 64
    while True:
        before = content[max(0, position - size) : position]
        run = len(before) - len(before.rstrip(b"\\"))
        if run < len(before) or len(before) == position:
            return run
        size *= 4


def _replaying(body: Body, receive: Receive) -> Receive:
    """The body from its file, for whoever reads it as it came; then the client's own messages."""
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
