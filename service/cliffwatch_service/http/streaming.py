"""Streams a job's events as server-sent events, for the API and the pages."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any
from uuid import UUID

import orjson
from fastapi import Request
from fastapi.responses import StreamingResponse
from starlette.concurrency import run_in_threadpool
from starlette.types import Receive, Scope, Send

from cliffwatch.trees.addresses import without_credentials
from cliffwatch_service.http.addresses import address_of
from cliffwatch_service.http.context import Service
from cliffwatch_service.http.cursors import identity
from cliffwatch_service.ingest.free_form import make_showable
from cliffwatch_service.refusal import not_found
from cliffwatch_service.store.work import queue
from cliffwatch_service.store.work.queue import EventRow

ENDED = frozenset({"done", "failed", "cancelled", "parked"})
"""States of a job after which its stream ends."""

_LOOK_EVERY = 0.5
"""Seconds between two queries for new events."""

_STREAM_SECONDS = 900
"""Longest time of one stream; a client reconnects after that."""


def sanitise_event(row: EventRow) -> EventRow:
    """Makes an event's free-form data safe to show."""
    return replace(row, data=make_showable(row.data))


async def event_stream(request: Request, service: Service, job: UUID, last: str | None) -> StreamingResponse:
    """Streams a job's events until the job ends. Raises Refusal.

    `last` is the id of the last event that the client has (Last-Event-ID). If it is None or not a number, the
    stream starts with the first event.
    """

    def look(after: int) -> tuple[list[EventRow], bool]:
        with service.transaction() as connection:
            row = queue.job_row(connection, job)
            if row is None:
                raise not_found("job", str(job))
            return list(
                map(sanitise_event, queue.events_after(connection, job, after, 1000))
            ), row.state in ENDED

    after = identity(last) if last is not None and last.isdecimal() and len(last) < 19 else 0
    first = await run_in_threadpool(look, after)

    async def stream() -> AsyncIterator[bytes]:
        events, ended = first
        position = after
        for _turn in range(int(_STREAM_SECONDS / _LOOK_EVERY)):
            for event in events:
                position = event.id
                content = orjson.dumps({"at": event.at, "kind": event.kind, "data": event.data})
                data = without_credentials(content.decode()).encode()
                yield b"id: %d\nevent: %s\ndata: %s\n\n" % (position, event.kind.encode(), data)
            if ended and not events:
                yield b"event: end\ndata: {}\n\n"
                return
            if not events:
                yield b": still here\n\n"
                await asyncio.sleep(_LOOK_EVERY)
            events, ended = await run_in_threadpool(look, position)

    who = address_of(request.scope)
    service.streams.take(who, 1)
    headers = {"Cache-Control": "no-cache"}
    return EndingStream(
        stream(),
        media_type="text/event-stream",
        headers=headers,
        ended=lambda: service.streams.give_back(who, 1),
    )


class EndingStream(StreamingResponse):
    """A stream that calls `ended` when it ends for whatever reason."""

    def __init__(self, *given: Any, ended: Callable[[], None], **named: Any) -> None:
        super().__init__(*given, **named)
        self._ended = ended

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._ended()
