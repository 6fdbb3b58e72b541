"""A web server in a thread, which starts and ends as soon as it can."""

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

_OFTEN = 0.002
"""Seconds between looks at connections that close."""

_GRACE = 10.0
"""Seconds that answers get to end in."""


class PromptServer(uvicorn.Server):
    """Uvicorn, which ends when it is asked to: the original looks ten times a second, three times over."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listening = threading.Event()

    def end(self) -> None:
        self._loop.call_soon_threadsafe(self._ending.set)

    async def main_loop(self) -> None:
        self._loop, self._ending = asyncio.get_running_loop(), asyncio.Event()
        counter = 0
        self.listening.set()
        while not self._ending.is_set() and not await self.on_tick(counter):
            counter += 1
            try:
                await asyncio.wait_for(self._ending.wait(), 0.1)
            except TimeoutError:
                continue

    async def shutdown(self, sockets: Any = None) -> None:
        for server in self.servers:
            server.close()
        state, latest = self.server_state, time.monotonic() + _GRACE
        for connection in list(state.connections):
            connection.shutdown()
        while (state.connections or state.tasks) and not self.force_exit and time.monotonic() < latest:  # noqa: ASYNC110
            await asyncio.sleep(_OFTEN)
        for task in state.tasks:
            task.cancel()


@contextmanager
def listening(config: uvicorn.Config) -> Iterator[PromptServer]:
    """A server that answers while this lasts."""
    server = PromptServer(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    assert server.listening.wait(300)
    try:
        yield server
    finally:
        server.end()
        thread.join()


def port_of(server: uvicorn.Server) -> int:
    port: int = server.servers[0].sockets[0].getsockname()[1]
    return port
