"""The builder's side: does one job and exits, which ends the container and everything in it.

The container engine then starts a new one. Before another job begins, the results of the last one are removed
and, unless the builder serves followed branches, so is its cache: at that time no other process runs that
could interfere.

The tree's code runs as the same user. This process, the first one of its container, is therefore closed to
ptrace, and the kernel blocks signals to it from within the container.
"""

import select
import socket
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cliffwatch.failure import Failure, wrong_usage
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
    """Where and how a builder works."""

    exchange: Path
    """Folder shared with the worker: the socket, and a folder of results named after the job."""

    cache: Path
    """Not shared."""

    trust: Trust
    command: tuple[str, ...]
    """`cliffwatch`."""

    env: Mapping[str, str]
    """The complete environment of `command`."""

    seconds: float
    """Maximum duration of a job."""


def serve_one_job(place: BuilderPlace) -> Failure | None:
    """Waits for a worker and does its job.

    Returns None if there was a job. Raises OSError on a broken disk.
    """
    path = place.exchange / SOCKET
    place.exchange.chmod(0o755)
    remove_tree(path)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        path.chmod(0o666)  # only the worker can reach the volume
        listening.listen(_WAITING)
        worker, _ = listening.accept()
    with worker:
        worker.settimeout(_PATIENCE)
        with worker.makefile("rb") as lines:
            job = read_job(lines.readline(LONGEST_LINE))
        if job is None:
            return wrong_usage(
                "the client is not a worker of this version", "run worker and builder from the same image"
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
    """True if the worker has closed the connection: it sends nothing after the job."""
    readable, _, _ = select.select([worker], [], [], 0)
    return bool(readable)
