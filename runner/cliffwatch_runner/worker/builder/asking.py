"""The worker's side: fetches the tree, sends the job to a builder and follows its output.

The builder's answers are untrusted: their length and duration are limited, and they are only displayed.
"""

import select
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from cliffwatch.failure import Exit, Failure
from cliffwatch.formats.work import Work
from cliffwatch_runner import clock, process
from cliffwatch_runner.source.access import TreeAccess, Trust
from cliffwatch_runner.source.tree import open_tree
from cliffwatch_runner.worker.builder.messages import (
    LONGEST_LINE,
    SOCKET,
    BuilderJob,
    Ended,
    Output,
    job_line,
    read_answer,
)

_ATTEMPTS = 4
_CONNECTING_SECONDS = 300.0
"""A container engine may wait a minute before it restarts a container."""

_LOOK_SECONDS = 0.5
_KEPT = 1 << 20
_MOST_OUTPUT = 64 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Builders:
    """The builders of a worker."""

    exchanges: Mapping[Trust, Path]
    """Folder shared with each builder, by the trust of the trees that it builds."""

    trees: Path
    """Folder of fetched trees, which builders can read."""

    def exchange(self, trust: Trust) -> Path:
        """A trust without a builder of its own uses the one for outside trees."""
        return self.exchanges.get(trust, self.exchanges["outside"])


def builder_job(
    offer: Work, access: TreeAccess, trees: Path, measured: Sequence[str], *, resume: bool
) -> BuilderJob | Failure:
    """Fetches the revisions of a job and returns it in the form that a builder takes.

    `measured` are the arguments that say what to measure. `resume`: the job was the builder's last one.
    """
    tree = open_tree(offer.tree, trees, access)
    if isinstance(tree, Failure):
        return tree
    for commit in (offer.base, offer.head, *(arm.rev for arm in offer.setup.arms)):
        revision = tree.resolve(commit)
        if isinstance(revision, Failure):
            return revision
    return BuilderJob(
        name=offer.job,
        tree=str(tree.mirror),
        measured=tuple(measured),
        profile=offer.profile,
        mode=offer.mode,
        platform=offer.platform,
        boots=offer.boots,
        seed=str(offer.seed),
        resume=resume,
    )


def run_in_builder(
    job: BuilderJob,
    exchange: Path,
    *,
    deadline: float,
    on_output: Callable[[str], None],
    should_stop: Callable[[], bool],
) -> process.Finished:
    """Runs a job in a builder and returns how it ended.

    If the builder ends first, asks it again: finished boots are kept.
    """
    began = clock.monotonic()
    tail = _Tail(on_output)
    for _ in range(_ATTEMPTS):
        talk = _BuilderConnection(
            exchange / SOCKET, until=began + deadline, tail=tail, should_stop=should_stop
        )
        ended = talk.run(job)
        if ended is not None or talk.stopped or talk.timed_out:
            break
        job = msgspec.structs.replace(job, resume=True)
        tail.add("the builder ended before the run did; it is asked again\n")
    else:
        tail.add(f"the builder ended {_ATTEMPTS} times before the run did: its container's log says why\n")
    status = int(Exit.HOST_FAILED) if ended is None else ended.status
    return process.Finished(
        argv=(str(exchange),),
        status=status,
        timed_out=talk.timed_out or (ended is not None and ended.timed_out),
        stopped=talk.stopped,
        seconds=clock.monotonic() - began,
        output=tail.text,
    )


class _Tail:
    """Keeps the end of the output, and forwards all of it up to a limit."""

    def __init__(self, on_output: Callable[[str], None]) -> None:
        self.text = ""
        self._left = _MOST_OUTPUT
        self._on_output = on_output

    def add(self, text: str) -> None:
        self.text = (self.text + text)[-_KEPT:]
        if self._left > 0:
            self._left -= len(text)
            self._on_output(text)


class _BuilderConnection:
    """One connection to a builder."""

    def __init__(self, path: Path, *, until: float, tail: _Tail, should_stop: Callable[[], bool]) -> None:
        self._path, self._until, self._tail, self._should_stop = path, until, tail, should_stop
        self.stopped = self.timed_out = False

    def run(self, job: BuilderJob) -> Ended | None:
        """Returns the end of the run; None if the connection ended first or this side stopped."""
        builder = self._connected()
        if builder is None:
            return None
        with builder:
            try:
                builder.sendall(job_line(job))
                return self._followed(builder)
            except OSError:
                return None

    def _connected(self) -> socket.socket | None:
        until = min(self._until, clock.monotonic() + _CONNECTING_SECONDS)
        while not self._over():
            connection = socket.socket(socket.AF_UNIX)
            try:
                connection.connect(str(self._path))
            except OSError:
                connection.close()
                if clock.monotonic() > until:
                    return None
                clock.pause(_LOOK_SECONDS)
            else:
                return connection
        return None

    def _followed(self, builder: socket.socket) -> Ended | None:
        received = bytearray()
        while not self._over():
            if not select.select([builder], [], [], _LOOK_SECONDS)[0]:
                continue
            piece = builder.recv(1 << 16)
            received += piece
            *lines, rest = bytes(received).split(b"\n")
            received = bytearray(rest)
            for line in lines:
                answer = read_answer(line)
                if isinstance(answer, Ended):
                    return answer
                if isinstance(answer, Output):
                    self._tail.add(answer.text)
            if not piece or len(received) > LONGEST_LINE:
                return None
        return None

    def _over(self) -> bool:
        self.stopped = self.stopped or self._should_stop()
        self.timed_out = clock.monotonic() > self._until
        return self.stopped or self.timed_out


def finished_with_failure(failure: Failure) -> process.Finished:
    """Presents a job that could not be sent to a builder as a run with this failure."""
    lines = [failure.message, failure.next_step, failure.evidence]
    return process.Finished(
        argv=(),
        status=int(failure.exit),
        timed_out=False,
        stopped=False,
        seconds=0.0,
        output="\n".join(lines),
    )
