"""The builder's side: one job, and then the end of the process, with which the container and all that runs in it end.

A container engine starts it anew. Before another job is begun the results of the last one go, and but for a followed branch all
that it left in the cache: nobody runs then who could be in the way. The tree's code runs as the same user, so that the process, the first one of its container, is closed to
ptrace; the kernel lets no signal through to it from within.
"""

import select
import socket
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cliffwatch.failure import Failure
from cliffwatch_runner import process
from cliffwatch_runner.sandbox.untrusted_files import remove_tree
from cliffwatch_runner.source.access import Trust
from cliffwatch_runner.worker.builder.messages import (
    LONGEST_LINE,
    SOCKET,
    BuilderJob,
    Ended,
    end_line,
    output_lines,
    read_job,
)

_PATIENCE = 60.0
_WAITING = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class BuilderPlace:
    """`exchange` is shared with the worker: the socket, and a folder of results named after the job. `cache` is the builder's alone.

    `command` is `cliffwatch`; `env` is all that it sees of the environment; `seconds` is what a job may take.
    """

    exchange: Path
    cache: Path
    trust: Trust
    command: tuple[str, ...]
    env: Mapping[str, str]
    seconds: float


def serve_one_job(place: BuilderPlace) -> Failure | None:
    """Waits for a worker, does its job and returns; None where there was one. Raises OSError on a broken disk."""
    path = place.exchange / SOCKET
    place.exchange.chmod(0o755)
    remove_tree(path)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        path.chmod(0o666)  # whoever reaches the volume may ask: that is the worker alone
        listening.listen(_WAITING)
        worker, _ = listening.accept()
    with worker:
        worker.settimeout(_PATIENCE)
        with worker.makefile("rb") as lines:
            job = read_job(lines.readline(LONGEST_LINE))
        if job is None:
            return Failure(
                whose="usage",
                message="what connected is no worker of this version",
                next_step="run worker and builder from the same image",
            )
        _do(place, job, worker)
    return None


def _do(place: BuilderPlace, job: BuilderJob, worker: socket.socket) -> None:
    if not job.resume:
        _empty(place.exchange, keep=SOCKET)
        if place.trust == "outside":
            _empty(place.cache)
    gone = threading.Event()

    def send(line: bytes) -> None:
        try:
            worker.sendall(line)
        except OSError:
            gone.set()

    def output(text: str) -> None:
        for line in output_lines(text):
            send(line)

    done = process.run(
        [*place.command, *job.argv(str(place.exchange / job.name), str(place.cache), place.trust)],
        deadline=place.seconds,
        env=place.env,
        on_output=output,
        should_stop=lambda: gone.is_set() or _hung_up(worker),
    )
    send(end_line(Ended(done.status, done.timed_out)))


def _empty(folder: Path, keep: str | None = None) -> None:
    for entry in folder.iterdir():
        if entry.name != keep:
            remove_tree(entry)


def _hung_up(worker: socket.socket) -> bool:
    """Whether the worker has closed the connection: it says nothing after the job."""
    readable, _, _ = select.select([worker], [], [], 0)
    return bool(readable)
