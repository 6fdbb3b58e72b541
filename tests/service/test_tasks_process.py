"""A running service has its tasks done by a process beside it, whatever becomes of that process."""

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

from service_running import Running
from service_runs import commit_of, put_all, run_of

from cliffwatch_service.tasks.process import task_process


def children() -> list[int]:
    """Processes of tasks that this process has started and that live."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            stat = (folder / "stat").read_text().rpartition(")")[2].split()
            words = (folder / "cmdline").read_text()
        except OSError:
            continue
        if stat[0] != "Z" and int(stat[1]) == os.getpid() and "cliffwatch_service.tasks" in words:
            found.append(int(folder.name))
    return found


def until(met: Callable[[], bool]) -> None:
    ends, turn = time.monotonic() + 120, threading.Event()
    while not met():
        assert time.monotonic() < ends
        turn.wait(0.02)


def measured(running: Running) -> bool:
    return bool(
        running.rows(
            "SELECT 1 FROM point JOIN revision ON revision.id = revision_id WHERE commit ="
            f" '{commit_of('head')}'"
        )
    )


def test_tasks_are_done_by_a_process_that_is_started_anew_when_it_dies(running: Running) -> None:
    with task_process(running.service.settings, running.database):
        until(lambda: len(children()) == 1)
        (first,) = children()
        os.kill(first, signal.SIGKILL)
        until(lambda: bool(children()) and children() != [first])
        with running.http("upload") as http:
            put_all(http, run_of(boots=3, cases=1))
        until(lambda: measured(running))
    assert children() == []
