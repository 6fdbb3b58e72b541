"""Runs background tasks in a separate process: a comparison's second of CPU time must not delay responses."""

import asyncio
import ctypes
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime

import structlog
from procrastinate import App

from cliffwatch_service.github.app.files import app_files
from cliffwatch_service.github.calling import GitHub
from cliffwatch_service.github.parts import GitHubParts
from cliffwatch_service.postgres.pool import open_pool
from cliffwatch_service.runtime import clock
from cliffwatch_service.runtime.logs import set_up_logs
from cliffwatch_service.runtime.settings import Settings
from cliffwatch_service.store import background
from cliffwatch_service.tasks.tasks import TaskParts, create_tasks

_PATIENCE = 15.0
"""Seconds for a running task to finish at shutdown. An interrupted task runs again at the next start."""

_PR_SET_PDEATHSIG = 1
_log = structlog.get_logger("cliffwatch.tasks")


@contextmanager
def task_process(settings: Settings, url: str) -> Iterator[None]:
    """Runs the task process for the duration of the block. Restarts it if it dies."""
    closing = threading.Event()
    started: list[subprocess.Popen[bytes]] = []

    def keep() -> None:
        while not closing.is_set():
            process = _start_process(settings, url)
            started.append(process)
            process.wait()
            if not closing.wait(1):
                _log.error("the task process died and is restarted", status=process.returncode)

    keeper = threading.Thread(target=keep, name="task-keeper", daemon=True)
    keeper.start()
    try:
        yield
    finally:
        closing.set()
        _end(started, keeper)


def _start_process(settings: Settings, url: str) -> "subprocess.Popen[bytes]":
    """Starts a Python that imports only the tasks. Only its parent writes to its standard input.

    A process of multiprocessing would also hold the command line's libraries and start a resource tracker,
    13 MB in all.
    """
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "cliffwatch_service.tasks"], stdin=subprocess.PIPE
    )
    assert process.stdin is not None
    with suppress(BrokenPipeError), process.stdin as given:  # it died at once and is restarted
        given.write(pickle.dumps((settings, url, os.getpid())))
    return process


def _end(started: "list[subprocess.Popen[bytes]]", keeper: threading.Thread) -> None:
    for process in started[-1:]:
        if process.poll() is None:
            process.terminate()
            keeper.join(_PATIENCE)
        if process.poll() is None:
            process.kill()
    keeper.join(_PATIENCE)


def run_task_process(settings: Settings, url: str, parent: int) -> None:
    """Main function of the task process: runs tasks until a signal ends it, or its parent ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # ^C is for the parent, which then ends this process
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        return
    set_up_logs(json=True)
    asyncio.run(run_tasks(url, settings))


async def run_tasks(
    url: str, settings: Settings, *, forever: bool = True, now: Callable[[], datetime] = clock.now
) -> None:
    """Runs tasks until a signal ends it or, if not `forever`, until no task is left."""
    pool = open_pool(url, connections=4, statement_seconds=settings.statement_seconds)
    files = app_files(settings)
    asking = GitHub(settings.github_api, files, now)
    github = GitHubParts(pool=pool, now=now, settings=settings, files=files, github=asking)
    try:
        tasks = create_tasks(url, TaskParts(pool=pool, now=now, settings=settings), github)
        async with tasks.open_async():
            if not forever:
                await tasks.run_worker_async(wait=False, concurrency=1, install_signal_handlers=False)
                return
            await _all_queues(tasks)
    finally:
        asking.close()
        pool.close()


async def _all_queues(tasks: App) -> None:
    """Runs one task at a time of each queue, so GitHub's tasks do not wait for comparisons and fetches."""
    async with asyncio.TaskGroup() as group:  # if one worker fails, all end, and the process is restarted
        beside = [
            group.create_task(
                tasks.run_worker_async(
                    queues=[queue],
                    name=queue,
                    concurrency=1,
                    install_signal_handlers=False,
                    update_heartbeat_interval=5,
                )
            )
            for queue in (background.GITHUB_QUEUE, background.NEWS_QUEUE)
        ]
        await tasks.run_worker_async(
            queues=[background.QUEUE], name="tasks", concurrency=1, update_heartbeat_interval=5
        )
        for each in beside:
            each.cancel()
