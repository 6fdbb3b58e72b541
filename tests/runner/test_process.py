"""Processes end when they should, and take their children with them."""

import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from ordinary_user import as_ordinary_user

from cliffwatch_runner import clock, process


def test_output_and_status_come_back(tmp_path: Path) -> None:
    ended = process.run(
        ["sh", "-c", "echo out; echo err >&2; exit 3"], deadline=600, log=process.Log(tmp_path / "log")
    )

    assert ended.status == 3
    assert not ended.ok
    assert sorted(ended.output.split()) == ["err", "out"]
    assert (tmp_path / "log").read_text() == ended.output


def test_a_process_is_ended_at_its_deadline_with_everything_it_started(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    script = f"sleep 1000 & echo $! > {pid_file}; wait"

    ended = process.run(["sh", "-c", script], deadline=0.5)

    assert ended.timed_out
    assert not _alive(int(pid_file.read_text()))


def test_a_child_that_ignores_the_request_to_end_is_killed(tmp_path: Path) -> None:
    script = "trap '' TERM; echo ready; while :; do sleep 0.1; done"

    ended = process.run(["sh", "-c", script], deadline=0.5)

    assert ended.timed_out
    assert ended.status == -9


def test_a_request_to_stop_ends_the_process() -> None:
    stop = threading.Event()

    ended = process.run(
        ["sh", "-c", "echo begun; sleep 1000"],
        deadline=600,
        on_output=lambda _: stop.set(),
        should_stop=stop.is_set,
    )

    assert ended.stopped
    assert not ended.timed_out
    assert ended.seconds < 30


def test_children_end_when_the_caller_fails(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"

    def fail(_: str) -> None:
        raise RuntimeError("the caller has a bug")

    with pytest.raises(RuntimeError):
        process.run(["sh", "-c", f"echo $$ > {pid_file}; echo x; sleep 1000"], deadline=600, on_output=fail)

    assert not _alive(int(pid_file.read_text()))


def test_a_grandchild_that_keeps_the_pipe_does_not_keep_the_run() -> None:
    ended = process.run(["sh", "-c", "sleep 1000 & exit 0"], deadline=600)

    assert ended.ok
    assert ended.seconds < 30


def test_a_log_is_not_written_beyond_its_limit(tmp_path: Path) -> None:
    writes = f"import sys; [sys.stdout.write('x' * 65536) for _ in range({100})]"

    ended = process.run(
        [sys.executable, "-c", writes], deadline=600, log=process.Log(tmp_path / "log", 200_000), keep=1000
    )

    assert ended.ok
    assert len(ended.output) == 1000
    assert 200_000 <= (tmp_path / "log").stat().st_size <= 200_000 + 65536


def test_a_missing_program_is_told_to_the_caller() -> None:
    with pytest.raises(FileNotFoundError):
        process.run(["no-such-program-anywhere"], deadline=600)


def as_ordinary_user_with(tmp_path: Path, path: str, script: str) -> str:
    """Runs a script whose PATH begins with a folder that may not be read, as root's own often does for
    others.
    """
    closed = tmp_path / "closed"
    closed.mkdir()
    (closed / "there").write_text("#!/bin/sh\n")
    (closed / "there").chmod(0o755)
    closed.chmod(0)
    env = {**os.environ, "PATH": f"{closed}:{path}"}
    program, *rest = as_ordinary_user([sys.executable, "-c", script])
    try:
        argv = [shutil.which(program) or program, *rest]
        return subprocess.run(argv, env=env, check=True, capture_output=True, text=True).stdout
    finally:
        closed.chmod(0o755)


def test_a_program_that_no_readable_folder_of_path_has_is_missing(tmp_path: Path) -> None:
    script = (
        "import shutil\n"
        "from cliffwatch_runner import process\n"
        "for program in ('no-such-program-anywhere', 'there'):\n"
        "    try: process.run([program], deadline=1)\n"
        "    except OSError as error: print(type(error).__name__, error.filename)\n"
        "print(process.run(['true'], deadline=9).status)\n"
    )

    output = as_ordinary_user_with(tmp_path, "/usr/bin:/bin", script)

    assert output.splitlines() == [
        "FileNotFoundError no-such-program-anywhere",
        "FileNotFoundError there",
        "0",
    ]


def test_a_program_that_may_not_be_run_is_no_missing_one(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\n")

    with pytest.raises(PermissionError):
        process.run([str(program)], deadline=1)


def test_the_doctor_finds_programs_missing_behind_a_folder_that_may_not_be_read(tmp_path: Path) -> None:
    script = (
        "from click.testing import CliRunner\n"
        "from cliffwatch_runner.command.doctor import doctor\n"
        "output = CliRunner().invoke(doctor, ['--mode', 'walltime'])\n"
        "assert output.exit_code == 4, output\n"
        "print(output.output)\n"
    )

    output = as_ordinary_user_with(tmp_path, "/nonexistent", script)

    assert "qemu-system-x86_64 is not installed" in output
    assert "bubblewrap is not installed" in output


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()


LEAVES_A_ZOMBIE = """
import os, signal
ready, write = os.pipe()
child = os.fork()
if child == 0:
    if os.fork() == 0:
        os._exit(0)
    os.setpgid(0, 0)
    os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
    os.close(1)
    os.close(2)
    os.write(write, b"x")
    signal.alarm(60)
    signal.pause()
os.read(ready, 1)
print(child)
"""


def test_what_has_ended_and_is_not_yet_reaped_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process in the child's group whose parent, outside of it, takes no notice that it has ended."""

    def no_pause(seconds: float) -> None:
        pytest.fail("it was waited for")

    monkeypatch.setattr(clock, "pause", no_pause)

    finished = process.run([sys.executable, "-c", LEAVES_A_ZOMBIE], deadline=60)
    os.kill(int(finished.output), signal.SIGKILL)

    assert finished.ok
