"""Processes large documents in a separate process, one at a time.

Checking 8 MiB of JSON blocks its process for a second and takes ten times the memory. In a separate process
it delays only the next large document.
"""

import asyncio
import ctypes
import multiprocessing
import os
import resource
import signal
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Annotated, Any, TypeVar, cast

import structlog
from fastapi import Depends, Request
from starlette.concurrency import run_in_threadpool

from cliffwatch_service.http.context import Rates, Service
from cliffwatch_service.postgres.pool import open_pool
from cliffwatch_service.refusal import Refusal
from cliffwatch_service.runtime import clock
from cliffwatch_service.runtime.logs import set_up_logs
from cliffwatch_service.runtime.memory import limit_malloc_arenas, make_collections_rare, release_freed_memory
from cliffwatch_service.runtime.settings import Settings

T = TypeVar("T")

LARGE = 1 << 20
"""Bytes from which a document counts as large."""

LARGE_TEXT = 1 << 15
"""Bytes from which a program's output counts as large. Its content decides how long parsing takes."""

_MOST_WAITING = 20
"""Most documents in the queue, the current one included."""

_MOST_READERS = 8
"""Queue length from which requests that only read are refused, so there is still room for uploads."""

_MOST_EXPORTS = 4
"""Most exports in the queue, the current one included."""

EXPORT_MEMORY = 512 << 20
"""Most bytes of private memory for the export process."""

_AFTER_OTHERS = 10
"""Niceness of the export process."""

_RENEWED_AFTER = 128
"""Documents after which the process is replaced, to free its memory."""

_IDLE_SECONDS = 60.0
"""Idle time after which the process ends. It uses half as much memory as the rest and starts in a second."""

_PR_SET_PDEATHSIG = 1
_log = structlog.get_logger("cliffwatch.large")
_here: list[Service] = []
"""The separate process's own service. It does not listen."""


class LargeWork:
    """Two processes: one for documents, one for exports, so slow exports delay only each other."""

    def __init__(self, settings: Settings, url: str) -> None:
        self._documents = _SeparateProcess(partial(_start_executor, settings, url, None))
        self._exports = _SeparateProcess(partial(_start_executor, settings, url, EXPORT_MEMORY))

    def close(self) -> None:
        self._documents.close()
        self._exports.close()

    async def do(
        self,
        service: Service,
        size: int,
        work: Callable[..., T],
        *given: Any,
        reads: bool = False,
        large: int = LARGE,
    ) -> T:
        """Calls `work(service, *given)`. Raises its exceptions, and Refusal if too many documents wait.

        A document of less than `large` bytes is handled in a thread of this process. Set `reads` for requests
        that do not store anything: they are refused earlier.
        """
        if size < large:
            return await run_in_threadpool(work, service, *given)
        return await self._documents.do(service, work, given, most=_MOST_READERS if reads else _MOST_WAITING)

    async def export(self, service: Service, size: int, work: Callable[..., T], *given: Any) -> T:
        """As `do`, but in the export process."""
        if size < LARGE:
            return await run_in_threadpool(work, service, *given)
        return await self._exports.do(service, work, given, most=_MOST_EXPORTS)


class _SeparateProcess:
    """A process that does one thing at a time. It starts on demand and ends after `_IDLE_SECONDS`."""

    def __init__(self, start: Callable[[], ProcessPoolExecutor]) -> None:
        self._start_process = start
        self._process: ProcessPoolExecutor | None = None
        self._turn: asyncio.Lock | None = None
        self._waiting = 0
        self._rest: asyncio.TimerHandle | None = None

    def close(self) -> None:
        if self._process is not None:
            self._process.shutdown(cancel_futures=True)

    def _rest_later(self) -> None:
        if self._rest is not None:
            self._rest.cancel()
        self._rest = asyncio.get_running_loop().call_later(_IDLE_SECONDS, self._end_idle)

    def _end_idle(self) -> None:
        if self._process is not None and not self._waiting:
            self._process.shutdown(wait=False)
            self._process = None

    async def do(self, service: Service, work: Callable[..., T], given: tuple[Any, ...], *, most: int) -> T:
        """Runs `work` in its turn. Raises its exceptions, and Refusal if `most` others wait already."""
        if self._waiting >= most:
            raise Refusal(
                503,
                "too many large documents",
                "the queue for large documents is full: send the request again later",
            )
        self._turn = self._turn or asyncio.Lock()
        self._waiting += 1
        try:
            async with self._turn:
                return await self._run(service.now(), work, given)
        finally:
            self._waiting -= 1
            self._rest_later()

    async def _run(self, now: datetime, work: Callable[..., T], given: tuple[Any, ...]) -> T:
        process = self._process = self._process or self._start_process()
        try:
            return await asyncio.get_running_loop().run_in_executor(process, _do, now, work, given)
        except (BrokenProcessPool, MemoryError):
            _log.error("the process for large documents ran out of memory and restarts on demand")
            process.shutdown(wait=False)
            self._process = None
            raise Refusal(
                503,
                "gave up",
                "the service ran out of memory for a document of this size: send or request less at once",
            ) from None


def _start_executor(settings: Settings, url: str, memory: int | None) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(
        1,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_init_process,
        initargs=(settings, url, os.getpid(), memory),
        max_tasks_per_child=_RENEWED_AFTER,
    )


def _large(request: Request) -> LargeWork:
    return cast("LargeWork", request.app.state.large)


LargeHere = Annotated[LargeWork, Depends(_large)]


def _init_process(settings: Settings, url: str, parent: int, memory: int | None) -> None:
    """Prepares the separate process. `memory` limits its private memory in bytes; None sets no limit."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # ^C is for the parent, which then ends this process
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    if memory is not None:
        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
        os.nice(_AFTER_OTHERS)  # pages go first: somebody who exports expects to wait
    limit_malloc_arenas()
    set_up_logs(json=True)
    pool = open_pool(url, connections=2, statement_seconds=settings.statement_seconds)
    make_collections_rare()
    _here.append(Service(settings=settings, pool=pool, now=clock.now, rates=Rates(1), session_key=""))


def _do(now: datetime, work: Callable[..., T], given: tuple[Any, ...]) -> T:
    try:
        return work(replace(_here[0], now=lambda: now), *given)
    finally:
        release_freed_memory()
