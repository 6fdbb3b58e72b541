"""One walltime run has the host alone, icount runs share it, and nothing that lies around can lock it for
ever.
"""

import errno
import fcntl
import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from cliffwatch.failure import Failure
from cliffwatch.samples import Mode
from cliffwatch_runner.host import lock
from cliffwatch_runner.host.lock import HostLock, host_lock, lock_path, lock_state


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cliffwatch-host.lock"


@contextmanager
def taken(path: Path, mode: Mode, what: str = "a run") -> Iterator[HostLock | Failure]:
    """Tries once; whoever would have to wait gets a Failure."""
    with host_lock(mode, what=what, waiting=lambda _: None, should_stop=lambda: True, path=path) as lock:
        yield lock


def has(path: Path, mode: Mode) -> bool:
    with taken(path, mode) as lock:
        return isinstance(lock, HostLock)


@pytest.mark.parametrize(
    ("first", "second", "together"),
    [
        ("icount", "icount", True),
        ("icount", "walltime", False),
        ("walltime", "icount", False),
        ("walltime", "walltime", False),
    ],
)
def test_who_may_run_together(path: Path, first: Mode, second: Mode, together: bool) -> None:
    with taken(path, first):
        assert has(path, second) is together
    assert has(path, second)


def test_who_waits_is_told_once_who_holds_the_lock_and_gets_it_afterwards(path: Path) -> None:
    reported: list[str] = []
    pauses: list[float] = []
    with ExitStack() as first:
        first.enter_context(taken(path, "icount", "icount run of 1a2b3c..4d5e6f"))

        def pause(seconds: float) -> None:
            pauses.append(seconds)
            if len(pauses) == 3:
                first.close()

        with host_lock(
            "walltime",
            what="second",
            waiting=reported.append,
            should_stop=lambda: False,
            path=path,
            pause=pause,
        ) as lock:
            assert lock == HostLock(path=path, mode="walltime")
    assert pauses == [1.0, 1.0, 1.0]
    assert len(reported) == 1
    assert reported[0].startswith(
        "Waiting for this host's lock, in use by icount run of 1a2b3c..4d5e6f (pid "
    )


def test_a_request_to_stop_ends_the_wait(path: Path) -> None:
    with taken(path, "walltime"), taken(path, "walltime") as second:
        assert isinstance(second, Failure)
        assert second.message == "Stopped while waiting for this host's lock."


def test_only_those_who_still_hold_the_lock_are_named(path: Path) -> None:
    with taken(path, "icount", "stays"):
        with taken(path, "icount", "leaves"):
            assert [holder.what for holder in lock_state(path).holders] == ["stays", "leaves"]
        state = lock_state(path)
        assert state.locked
        assert [holder.what for holder in state.holders] == ["stays"]
    assert not lock_state(path).locked
    assert path.read_text() == ""


def test_the_lock_is_let_go_when_the_run_fails(path: Path) -> None:
    with pytest.raises(RuntimeError), taken(path, "walltime"):
        raise RuntimeError("the run has a bug")

    assert has(path, "walltime")


def test_the_lock_is_let_go_when_the_run_is_killed(path: Path) -> None:
    script = (
        "import os, signal; from pathlib import Path; from cliffwatch_runner.host.lock import"
        " host_lock\nwith host_lock('walltime', what='killed', waiting=print, should_stop=bool,"
        f" path=Path({str(path)!r})):\n    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    ended = subprocess.run([sys.executable, "-c", script], check=False)

    assert ended.returncode == -signal.SIGKILL
    assert "killed" in path.read_text()
    assert not lock_state(path).locked
    assert has(path, "walltime")


def test_a_lock_file_can_be_used_by_every_user(path: Path) -> None:
    old = os.umask(0o077)
    try:
        has(path, "icount")
    finally:
        os.umask(old)

    assert stat.S_IMODE(path.stat().st_mode) == 0o666


def test_a_file_that_may_only_be_read_locks_all_the_same(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_text("")
    real_open = os.open

    def no_writing(name: Path, flags: int, mode: int = 0o777) -> int:
        if flags & (os.O_RDWR | os.O_WRONLY):
            raise PermissionError(13, "Permission denied")
        return real_open(name, flags, mode)

    monkeypatch.setattr(os, "open", no_writing)
    with taken(path, "walltime") as lock:
        assert isinstance(lock, HostLock)
        assert not has(path, "icount")


def _link(path: Path) -> None:
    path.symlink_to(path.with_name("victim"))


def _hard_link(path: Path) -> None:
    path.hardlink_to(path.with_name("victim"))


@pytest.mark.parametrize(
    "put", [_link, _hard_link, os.mkfifo, Path.mkdir], ids=["symlink", "hardlink", "fifo", "folder"]
)
def test_what_somebody_else_put_in_its_place_is_refused_and_not_written_to(
    path: Path, put: Callable[[Path], None]
) -> None:
    victim = path.with_name("victim")
    victim.write_text("precious")
    put(path)

    with taken(path, "walltime") as lock:
        assert isinstance(lock, Failure)
        assert str(path) in lock.message
        assert lock.next_step.endswith(f"sudo rm {path}")
    assert victim.read_text() == "precious"


@pytest.mark.parametrize(
    "text",
    [
        b"\xff\xfe garbage\n",
        b"[" * 60_000 + b"\n",
        b'{"held": true}\n',
        b'{"held": true, "pid": 1, "since": "x", "what": 1}\n',
        b'{"held": true, "pid": 1, "since": "yesterday", "what": "me"}\n',
    ],
)
def test_no_text_in_the_file_stops_a_run(path: Path, text: bytes) -> None:
    path.write_bytes(text)
    with path.open("rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        assert lock_state(path).holders == ()
        assert not has(path, "icount")
    assert has(path, "icount")


def test_a_read_only_root_says_what_to_make_writable(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def read_only(*_: object) -> int:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(lock, "_existing_or_new", read_only)
    with host_lock("icount", what="a run", waiting=print, should_stop=lambda: False, path=path) as refused:
        assert isinstance(refused, Failure)
        assert "read-only" in refused.message
        assert "--tmpfs" in refused.next_step


def test_names_of_holders_cannot_write_on_the_terminal(path: Path) -> None:
    entry = {
        "held": True,
        "pid": os.getpid(),
        "since": "2026-11-20T10:00:00+00:00",
        "what": "evil\x1b[2J" + "x" * 999,
    }
    path.write_text(json.dumps(entry) + "\n")
    with path.open("rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        (holder,) = lock_state(path).holders

    assert "\x1b" not in str(holder)
    assert len(holder.what) == 200


def test_every_user_of_a_host_meets_at_one_file(tmp_path: Path) -> None:
    (tmp_path / "run/lock").mkdir(parents=True)
    (tmp_path / "run/lock").chmod(0o755)
    assert lock_path(tmp_path) == tmp_path / "tmp/cliffwatch-host.lock"

    (tmp_path / "run/lock").chmod(0o1777)
    assert lock_path(tmp_path) == tmp_path / "run/lock/cliffwatch-host.lock"
