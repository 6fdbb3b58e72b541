"""The only module of the runner that starts processes.

Every child leads a process group of its own and that group is killed when its deadline passes, when the caller is
interrupted and when the caller fails: nothing that was started is left behind.
"""

import errno
import os
import selectors
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from cliffwatch_runner import clock

_READ_SIZE = 1 << 16
_GRACE_SECONDS = 2.0
_POLL_SECONDS = 0.2
_GROUP_POLL_SECONDS = 0.005


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """How a process ended. `status` is the exit status, negative for a signal; `timed_out` where its deadline ended it.

    `output` is standard output and standard error as they came, at most the last `keep` bytes, invalid UTF-8 replaced.
    """

    argv: tuple[str, ...]
    status: int
    timed_out: bool
    stopped: bool
    seconds: float
    output: str

    @property
    def ok(self) -> bool:
        return self.status == 0 and not self.timed_out


@dataclass(frozen=True, slots=True)
class Log:
    """The file to which a process's output is appended; of one with a `limit`, at most so many bytes."""

    path: Path
    limit: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessInput:
    """What a process finds when it starts."""

    env: Mapping[str, str]
    """All of its environment."""

    given: bytes | None
    """All of its standard input, no more than a pipe of one page holds; None for an empty one."""


def run(  # noqa: PLR0913 - what a process can be given
    argv: Sequence[str],
    *,
    deadline: float,
    cwd: Path | None = None,
    env: Mapping[str, str] | ProcessInput | None = None,
    stdin: int | None = None,
    log: Log | None = None,
    own_session: bool = True,
    on_start: Callable[[int], None] | None = None,
    on_output: Callable[[str], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
    keep: int = 1 << 20,
) -> Finished:
    """Runs `argv` for at most `deadline` seconds and returns how it ended.

    Without a session of its own it has the caller's terminal, if there is one, and competes for the CPU with the caller
    alone: the scheduler gives each session as much ("The autogroup feature" in sched(7)).
    `stdin` is the descriptor of its standard input, which is empty without. `on_start` gets the process's number. Output goes to `log` as it comes and to `on_output` in pieces that end where the
    pipe's reads end. `should_stop` is asked several times a second; once it is true the group is ended as at the deadline.
    Raises FileNotFoundError where the program is not on PATH, OSError where `log` cannot be written (a full disk).
    """
    started = clock.monotonic()
    with _group(argv, cwd=cwd, env=env, stdin=stdin, own_session=own_session) as child, _opened(log) as sink:
        if on_start is not None:
            on_start(child.pid)
        tail, logged = bytearray(), 0
        timed_out = stopped = False
        for piece in _pieces(child):
            if piece:
                _take(piece, tail, keep, on_output)
                if log is not None and sink is not None and (log.limit is None or logged < log.limit):
                    sink.write(piece)
                    sink.flush()
                    logged += len(piece)
            timed_out = clock.monotonic() - started > deadline
            stopped = should_stop is not None and should_stop()
            if timed_out or stopped:
                break
        if timed_out or stopped:
            end_group(child)
        status = child.wait()
    return Finished(
        argv=tuple(argv),
        status=status,
        timed_out=timed_out,
        stopped=stopped,
        seconds=clock.monotonic() - started,
        output=tail.decode(errors="replace"),
    )


def _take(piece: bytes, tail: bytearray, keep: int, on_output: Callable[[str], None] | None) -> None:
    tail += piece
    del tail[:-keep]
    if on_output is not None:
        on_output(piece.decode(errors="replace"))


@contextmanager
def _group(
    argv: Sequence[str],
    *,
    cwd: Path | None,
    env: Mapping[str, str] | ProcessInput | None,
    stdin: int | None,
    own_session: bool,
) -> Iterator[subprocess.Popen[bytes]]:
    env, given = (env.env, env.given) if isinstance(env, ProcessInput) else (env, None)
    try:
        child = subprocess.Popen(
            list(argv),
            cwd=cwd,
            env=dict(env) if env is not None else None,
            stdin=stdin if stdin is not None else subprocess.DEVNULL if given is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=own_session,
            process_group=None if own_session else 0,
        )
    except PermissionError:
        if _on_path(argv[0], os.environ if env is None else env):
            raise
        # A folder of PATH that this user may not read hides nothing: what is in no other one is missing.
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), argv[0]) from None
    try:
        if child.stdin is not None and given is not None:
            with suppress(BrokenPipeError), child.stdin:
                child.stdin.write(given)
        yield child
    finally:
        end_group(child)
        if child.stdout is not None:
            child.stdout.close()


def _on_path(program: str, env: Mapping[str, str]) -> bool:
    return "/" in program or shutil.which(program, path=env.get("PATH", os.defpath)) is not None


@contextmanager
def _opened(log: Log | None) -> Iterator[IO[bytes] | None]:
    if log is None:
        yield None
        return
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(log.path, flags, 0o666), "ab") as sink:
        yield sink


def _pieces(child: subprocess.Popen[bytes]) -> Iterator[bytes]:
    """Yields output as it comes, and an empty piece now and then so that the caller can look at the time.

    Ends at the end of output, or when the child has ended although something it started still holds the pipe.
    """
    assert child.stdout is not None
    with selectors.DefaultSelector() as selector:
        selector.register(child.stdout, selectors.EVENT_READ)
        while True:
            if not selector.select(timeout=_POLL_SECONDS):
                if child.poll() is not None:
                    return
                yield b""
                continue
            piece = os.read(child.stdout.fileno(), _READ_SIZE)
            if not piece:
                return
            yield piece


def end_group(child: subprocess.Popen[bytes]) -> None:
    """Ends a child and all that it started: asks first, then kills."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(child.pid, number)
        except ProcessLookupError:
            break
        try:
            child.wait(_GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            continue
    child.wait()
    _wait_for_group(child.pid)


def _wait_for_group(group: int) -> None:
    """Waits for what a killed group has beside its leader: a signal is delivered, not obeyed, when killpg(2) returns.

    Not for those that have ended and stay in their group until their parent takes notice, which the first process of a container
    may never do.
    """
    until = clock.monotonic() + _GRACE_SECONDS
    with suppress(ProcessLookupError):
        while clock.monotonic() < until:
            os.killpg(group, 0)
            if not _lives(group):
                return
            clock.pause(_GROUP_POLL_SECONDS)


def process_folders(proc: Path = Path("/proc")) -> Iterator[Path]:
    """The folder of each process. It may end at any moment, and what is read in it then raises OSError (glob would, on the way, before anybody reads)."""
    return (entry for entry in proc.iterdir() if entry.name.isdigit())


def _lives(group: int) -> bool:
    """Whether a process of the group has not ended."""
    for folder in process_folders():
        with suppress(OSError):
            state, _, of = (folder / "stat").read_bytes().rpartition(b") ")[2].split(maxsplit=3)[:3]
            if state not in (b"Z", b"X") and int(of) == group:
                return True
    return False


class Conversation:
    """A program that takes and writes lines for as long as it runs."""

    def __init__(self, child: subprocess.Popen[bytes]) -> None:
        self._child = child
        self._received = bytearray()

    def send(self, line: str) -> None:
        """Raises BrokenPipeError where the program has ended."""
        assert self._child.stdin is not None
        self._child.stdin.write(line.encode() + b"\n")
        self._child.stdin.flush()

    def end_input(self) -> None:
        assert self._child.stdin is not None
        self._child.stdin.close()

    def has_ended(self) -> bool:
        return self._child.poll() is not None

    def receive(self, seconds: float, longest: int = 1 << 20) -> str | None:
        """The next line; None where the program ends before it, writes too much or takes longer than `seconds`, which may be 0."""
        assert self._child.stdout is not None
        until = clock.monotonic() + seconds
        with selectors.DefaultSelector() as selector:
            selector.register(self._child.stdout, selectors.EVENT_READ)
            while b"\n" not in self._received:
                left = max(0.0, until - clock.monotonic())
                if len(self._received) > longest or not selector.select(timeout=left):
                    return None
                piece = os.read(self._child.stdout.fileno(), _READ_SIZE)
                if not piece:
                    return None
                self._received += piece
        line, _, rest = bytes(self._received).partition(b"\n")
        self._received = bytearray(rest)
        return line.decode(errors="replace")


@contextmanager
def conversation(argv: Sequence[str], *, patience: float) -> Iterator[Conversation]:
    """Starts a program to exchange lines with; at the end its input ends, and it has `patience` seconds to end by itself.

    It may be another user's, whom signals do not reach. Raises FileNotFoundError where the program is not on PATH.
    """
    child = subprocess.Popen(
        list(argv),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    talk = Conversation(child)
    try:
        yield talk
    finally:
        with suppress(BrokenPipeError):
            talk.end_input()
        try:
            child.wait(patience)
        except subprocess.TimeoutExpired:
            with suppress(PermissionError, ProcessLookupError):
                os.killpg(child.pid, signal.SIGTERM)
        assert child.stdout is not None
        child.stdout.close()
