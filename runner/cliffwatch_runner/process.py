"""Starts processes. No other module of the runner does.

Every child leads its own process group. The group is killed when its deadline passes, when the caller is
interrupted and when the caller fails, so no process is left behind.
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
    """How a process ended."""

    argv: tuple[str, ...]
    status: int
    """Exit status; negative for a signal."""

    timed_out: bool
    """True if its deadline ended it."""

    stopped: bool
    """True if `should_stop` ended it."""

    seconds: float
    output: str
    """Standard output and standard error, interleaved: the last `keep` bytes. Invalid UTF-8 is replaced."""

    @property
    def ok(self) -> bool:
        return self.status == 0 and not self.timed_out


@dataclass(frozen=True, slots=True)
class Log:
    """The file to which a process's output is appended."""

    path: Path
    limit: int | None = None
    """Maximum size in bytes; None for no limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessInput:
    """Environment and standard input of a process."""

    env: Mapping[str, str]
    """The complete environment."""

    given: bytes | None
    """The complete standard input, at most one page (the buffer of a pipe); None for an empty one."""


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

    - `stdin` is the descriptor of standard input; without it, standard input is empty.
    - `own_session`: if False, the process keeps the caller's terminal and shares the CPU time of the caller's
      session, because the scheduler divides CPU time between sessions ("The autogroup feature" in sched(7)).
    - `on_start` receives the process ID.
    - `log` and `on_output` receive output as it arrives. One read from the pipe is one piece for `on_output`.
    - `should_stop` is polled several times a second. Once it returns True, the group is ended.

    Raises FileNotFoundError if the program is not on PATH, OSError if `log` cannot be written (a full disk).
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
        # PATH has a folder that this user may not search. If no other folder has the program, it is missing.
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
    """Yields output as it arrives, and now and then an empty piece so that the caller can check the time.

    Ends with the output, or when the child has ended although one of its own children still holds the pipe.
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
    """Ends a child and everything that it started: SIGTERM first, then SIGKILL."""
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
    """Waits until the members of a killed group have ended.

    When killpg(2) returns, the signal is delivered but not yet handled. Zombies do not count: they stay in
    their group until their parent reaps them, which the first process of a container may never do.
    """
    until = clock.monotonic() + _GRACE_SECONDS
    with suppress(ProcessLookupError):
        while clock.monotonic() < until:
            os.killpg(group, 0)
            if not _lives(group):
                return
            clock.pause(_GROUP_POLL_SECONDS)


def process_folders(proc: Path = Path("/proc")) -> Iterator[Path]:
    """Yields the /proc folder of each process.

    A process may end at any moment; reading its folder then raises OSError. Path.glob would raise while
    iterating.
    """
    return (entry for entry in proc.iterdir() if entry.name.isdigit())


def _lives(group: int) -> bool:
    """True if a process of the group has not ended."""
    for folder in process_folders():
        with suppress(OSError):
            state, _, of = (folder / "stat").read_bytes().rpartition(b") ")[2].split(maxsplit=3)[:3]
            if state not in (b"Z", b"X") and int(of) == group:
                return True
    return False


class Conversation:
    """A running program that reads and writes lines."""

    def __init__(self, child: subprocess.Popen[bytes]) -> None:
        self._child = child
        self._received = bytearray()

    def send(self, line: str) -> None:
        """Raises BrokenPipeError if the program has ended."""
        assert self._child.stdin is not None
        self._child.stdin.write(line.encode() + b"\n")
        self._child.stdin.flush()

    def end_input(self) -> None:
        assert self._child.stdin is not None
        self._child.stdin.close()

    def has_ended(self) -> bool:
        return self._child.poll() is not None

    def receive(self, seconds: float, longest: int = 1 << 20) -> str | None:
        """Returns the next line, waiting at most `seconds`, which may be 0.

        Returns None if the time passes, the program ends, or the line is longer than `longest` bytes.
        """
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
    """Starts a program to exchange lines with.

    At the end its input is closed, and it has `patience` seconds to exit. It may run as another user, whom
    signals do not reach. Raises FileNotFoundError if the program is not on PATH.
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
