"""A build that takes all of the host is ended, the host answers all the while, and nothing of the build is
left.
"""

import math
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from bare_sandbox import compiled, needs_groups, needs_namespaces, sandboxed, user

from cliffwatch.failure import Failure
from cliffwatch_runner import process
from cliffwatch_runner.host.capacity import threads_running
from cliffwatch_runner.sandbox.guard import guard_sandbox
from cliffwatch_runner.sandbox.limits import SandboxLimits, change_limits, host_limits, refuse_root
from cliffwatch_runner.sandbox.process_tree import process_of, threads_of, threads_of_others
from cliffwatch_runner.sandbox.seccomp_filter import filter_call, filter_program
from cliffwatch_runner.sandbox.watching import Watch, WatchRequest

MIB = 1 << 20
ANSWERS_WITHIN = 2.0

LIMITS = SandboxLimits(
    memory_bytes=400 * MIB,
    processes=4000,
    disk_bytes=200 * MIB,
    file_bytes=1024 * MIB,
    seconds=300.0,
    spare_memory=64 * MIB,
    spare_disk=256 * MIB,
)

FEW = replace(LIMITS, processes=400)
"""For bombs alone: beside them the host's other work may well start so many threads, which the watcher counts
too.
"""

BOMB = """
#include <unistd.h>
int main(void)
{
	for (;;)
		if (fork() < 0)
			usleep(1000);
}
"""

DAEMONS = """
#include <unistd.h>
int main(void)
{
	for (int i = 0; i < 20; i++)
		if (fork() == 0) {
			setsid();
			if (fork() == 0)
				setsid();
			pause();
		}
	pause();
}
"""

EATER = """
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(void)
{
	for (int i = 0; i < 8; i++)
		if (fork() == 0) {
			for (int taken = 0; taken < 200; taken++) {
				memset(malloc(1 << 20), 1, 1 << 20);
				usleep(1000);
			}
			pause();
		}
	pause();
}
"""

HIDDEN_EATER = EATER.replace(
    "int main(void)\n{", "#include <sys/prctl.h>\nint main(void)\n{\n\tprctl(PR_SET_DUMPABLE, 0);"
)
FILLER = "while :; do head -c 20M /dev/zero > {path}/$((i += 1)) || exit; done"
UNLINKED = "exec 3> gone; rm gone; while :; do head -c 20M /dev/zero >&3 || exit; done"


@dataclass
class Answers:
    """How long the host took to start a program, at worst."""

    worst: float = 0.0
    count: int = 0


@contextmanager
def asked() -> Iterator[Answers]:
    """Asks the host to start a program, again and again."""
    answers, done = Answers(), threading.Event()

    def ask() -> None:
        while answers.count == 0 or not done.wait(0.05):
            before = time.monotonic()
            subprocess.run(["true"], check=True)
            answers.worst = max(answers.worst, time.monotonic() - before)
            answers.count += 1

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield answers
    finally:
        done.set()
        thread.join()


@pytest.fixture(
    params=[pytest.param(True, marks=needs_groups, id="control group"), pytest.param(False, id="watcher")]
)
def by_group(request: pytest.FixtureRequest) -> bool:
    """Who holds the sandbox to its limits."""
    return bool(request.param)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "given"
    path.mkdir()
    return path


def alive(program: str, then: signal.Signals | None = None) -> list[int]:
    """Who runs with this word in his command line."""
    running = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if program in os.fsdecode((folder / "cmdline").read_bytes()):
                running.append(int(folder.name))
                if then is not None:
                    os.kill(running[-1], then)
        except OSError:
            continue
    return running


@contextmanager
def nothing_left(program: str) -> Iterator[None]:
    """Nothing of it is left after the block. A test that fails leaves no bomb to whoever else uses this host,
    either.
    """
    try:
        yield
    finally:
        left = alive(program)
        for number in (signal.SIGSTOP, signal.SIGSTOP, signal.SIGSTOP, signal.SIGKILL):
            alive(program, number)
    assert left == []


def ended(
    folder: Path,
    command: list[str],
    limits: SandboxLimits,
    *,
    by_group: bool,
    wall: Callable[[Path, list[str]], list[str]] = sandboxed,
) -> Failure | None:
    """What became of a command under its limits; nothing is left of it and the host answered all the while.

    Without wall and control group it has a session of its own, to which the scheduler gives as much as to
    all the others: no promise then.
    """
    with ExitStack() as stack:
        stack.enter_context(nothing_left(str(folder)))
        answers = stack.enter_context(asked())
        guard = stack.enter_context(guard_sandbox(limits, [folder], user=user, control_groups=by_group))
        done = process.run(
            guard.argv(wall(folder, command)),
            deadline=60.0,
            own_session=wall is not sandboxed,
            on_start=guard.begin,
            should_stop=guard.should_stop,
        )
        failure = guard.failure("the build")
        assert failure is not None or done.ok, done.output
        assert not done.timed_out
    assert answers.worst < ANSWERS_WITHIN or (wall is not sandboxed and not by_group)
    return failure


def watched_from_here(limits: SandboxLimits) -> WatchRequest:
    """A sandbox that is this process, on a host as it is."""
    return WatchRequest(
        limits=limits,
        disks={},
        user=user,
        group=None,
        root=process_of(os.getpid()),
        threads=threads_running(),
        threads_of_others=threads_of_others(user),
        shared=0,
    )


def blamed(failure: Failure | None, *words: str) -> None:
    assert failure is not None
    assert failure.whose == "kernel"
    assert all(word in failure.message + failure.next_step for word in words), failure


@needs_namespaces
def test_a_build_within_its_limits_is_left_alone(folder: Path, by_group: bool) -> None:
    assert (
        ended(folder, ["sh", "-c", "head -c 20M /dev/zero > some; echo built"], LIMITS, by_group=by_group)
        is None
    )


@needs_namespaces
def test_a_fork_bomb_is_ended(folder: Path, by_group: bool) -> None:
    compiled(folder, "bomb", BOMB)

    blamed(
        ended(folder, ["./bomb", str(folder)], FEW, by_group=by_group), "400 processes", "--limit processes=N"
    )


@needs_namespaces
@pytest.mark.parametrize("source", [EATER, HIDDEN_EATER], ids=["plain", "that hides its memory"])
def test_what_eats_the_memory_is_ended(folder: Path, source: str, by_group: bool) -> None:
    compiled(folder, "eater", source)

    blamed(
        ended(folder, ["./eater", str(folder)], LIMITS, by_group=by_group),
        "400 MiB of memory",
        "--limit memory=",
    )


@needs_namespaces
@pytest.mark.parametrize("file_system", ["/tmp", "/dev/shm"])
def test_files_in_memory_are_memory(folder: Path, file_system: str, by_group: bool) -> None:
    command = ["sh", "-c", FILLER.format(path=file_system), str(folder)]

    blamed(ended(folder, command, LIMITS, by_group=by_group), "400 MiB of memory")


SHARED = """
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>
int main(int count, char **words)
{
	int zero = open("/dev/zero", O_RDWR);

	if (strcmp(words[1], "hidden") == 0)
		prctl(PR_SET_DUMPABLE, 0);
	if (strcmp(words[1], "among many") == 0) {
		memset(mmap(0, 5 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, zero, 0), 1, 5 << 20);
		for (int i = 0; i < 60; i++)
			if (fork() == 0) {
				memset(mmap(0, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, zero, 0), 1, 1 << 20);
				pause();
			}
	}
	for (int taken = 0; taken < 1000; taken += 20) {
		char *some = mmap(0, 20 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, zero, 0);
		memset(some, 1, 20 << 20);
		madvise(some, 20 << 20, MADV_DONTNEED);
		usleep(20000);
	}
	pause();
}
"""
"""Memory that is resident in no process."""


@needs_namespaces
@pytest.mark.parametrize("how", ["seen", "hidden", "among many"])
def test_memory_that_is_resident_in_no_process_is_counted(folder: Path, how: str, by_group: bool) -> None:
    compiled(folder, "shared", SHARED)

    blamed(ended(folder, ["./shared", how, str(folder)], LIMITS, by_group=by_group), "400 MiB of memory")


NOBODYS_MEMORY = r"""
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(void)
{
	printf("%ld %d\n", syscall(SYS_memfd_secret, 0), shmget(IPC_PRIVATE, 4096, 0600));
	return 0;
}
"""


@needs_namespaces
@pytest.mark.skipif(filter_program() is None, reason="the filter is for x86-64 alone")
def test_memory_of_nobody_is_not_to_be_had(folder: Path) -> None:
    """Of secret memory, and of a segment that nobody has attached, no process shows anything."""
    compiled(folder, "nobodys", NOBODYS_MEMORY)
    argv = filter_call(sandboxed(folder, ["./nobodys"]))

    said = subprocess.run(argv, input=filter_program(), stdout=subprocess.PIPE, check=True)

    assert said.stdout.split() == [b"-1", b"-1"]


MEMFDS = r"""
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
int main(int count, char **words)
{
	static char some[1 << 20];
	int ends[2];

	memset(some, 1, sizeof(some));
	socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
	for (int taken = 0; taken < 50; taken++) {
		int file = memfd_create("x", 0);
		for (int i = 0; i < 20; i++)
			write(file, some, sizeof(some));
		if (strcmp(words[1], "sent") == 0) {
			char space[CMSG_SPACE(sizeof(int))] = { 0 };
			struct iovec one = { some, 1 };
			struct msghdr message = { 0, 0, &one, 1, space, sizeof(space), 0 };
			struct cmsghdr *head = CMSG_FIRSTHDR(&message);
			head->cmsg_level = SOL_SOCKET;
			head->cmsg_type = SCM_RIGHTS;
			head->cmsg_len = CMSG_LEN(sizeof(int));
			memcpy(CMSG_DATA(head), &file, sizeof(int));
			sendmsg(ends[0], &message, 0);
			close(file);
		}
		usleep(20000);
	}
	pause();
}
"""


@needs_namespaces
@pytest.mark.parametrize("how", ["held", "sent"])
def test_memory_of_descriptors_is_counted(folder: Path, how: str, by_group: bool) -> None:
    """Nobody maps it. libbpf makes a memfd for each map of an object, so that building bench needs them."""
    compiled(folder, "memfds", MEMFDS)

    blamed(ended(folder, ["./memfds", how, str(folder)], LIMITS, by_group=by_group), "400 MiB of memory")


HOLDS_THE_INTERPRETER = re.compile(r"(?:a|aa|aaa)*b")


@needs_namespaces
def test_limits_hold_while_the_interpreter_is_held(folder: Path, by_group: bool) -> None:
    """Whatever reads the output of a build, and however long that takes."""
    compiled(folder, "eater", EATER)
    took: list[float] = []

    def hold(_: str) -> None:
        """Until the sandbox has ended: a pattern gives no other thread of its process a turn."""
        began = time.monotonic()
        while alive(str(folder)) and time.monotonic() - began < 60:
            HOLDS_THE_INTERPRETER.match("a" * 30)
        took.append(time.monotonic() - began)

    with (
        nothing_left(str(folder)),
        guard_sandbox(LIMITS, [folder], user=user, control_groups=by_group) as guard,
    ):
        process.run(
            guard.argv(sandboxed(folder, ["sh", "-c", 'echo begun; exec ./eater "$0"', str(folder)])),
            deadline=120.0,
            on_start=guard.begin,
            on_output=hold,
            should_stop=guard.should_stop,
        )
        blamed(guard.failure("the build"), "400 MiB of memory")
    assert max(took) < 40  # a thread of this process would take a hundred seconds


def test_a_sandbox_whose_watcher_ends_is_ended(folder: Path) -> None:
    with guard_sandbox(LIMITS, [folder], user=user, control_groups=False) as guard:

        def begin(number: int) -> None:
            guard.begin(number)
            guard._watcher._child.kill()

        done = process.run(["sleep", "1000"], deadline=60.0, on_start=begin, should_stop=guard.should_stop)
        failure = guard.failure("the build")

    assert done.stopped
    assert failure is not None
    assert failure.whose == "host"
    assert "watches its limits" in failure.message


@needs_namespaces
def test_what_fills_the_disk_is_ended(folder: Path, by_group: bool) -> None:
    command = ["sh", "-c", FILLER.format(path="."), str(folder)]

    blamed(ended(folder, command, LIMITS, by_group=by_group), "filled the disk", "--limit disk=SIZE")
    assert sum(file.stat().st_size for file in folder.iterdir()) < 2000 * MIB


@needs_namespaces
def test_the_host_keeps_its_spare_disk_from_files_without_names(folder: Path, by_group: bool) -> None:
    free = shutil.disk_usage(folder).free
    spared = replace(LIMITS, disk_bytes=free, spare_disk=free - 200 * MIB)

    blamed(ended(folder, ["bash", "-c", UNLINKED, str(folder)], spared, by_group=by_group), "filled the disk")


@needs_namespaces
def test_one_file_ends_at_its_limit(folder: Path, by_group: bool) -> None:
    command = ["sh", "-c", "head -c 40M /dev/zero > one || true"]

    assert ended(folder, command, replace(LIMITS, file_bytes=8 * MIB), by_group=by_group) is None
    assert (folder / "one").stat().st_size <= 8 * MIB


@needs_namespaces
def test_what_does_not_end_is_ended(folder: Path, by_group: bool) -> None:
    command = ["sh", "-c", "trap '' TERM; sleep 1000 & wait; sleep 1000", str(folder)]

    blamed(
        ended(folder, command, replace(LIMITS, seconds=0.5), by_group=by_group),
        "did not end",
        "--limit hours=N",
    )


@pytest.mark.parametrize(
    ("source", "reached"),
    [
        pytest.param(BOMB, "400 processes", id="a bomb"),
        pytest.param(DAEMONS, "did not end", id="other sessions"),
    ],
)
def test_without_namespaces_all_are_ended_too(
    folder: Path, source: str, reached: str, by_group: bool
) -> None:
    """`--isolation none`: no namespace's first process takes the others with it."""
    program = compiled(folder, "program", source)

    def none(folder: Path, command: list[str]) -> list[str]:
        return (
            command
            if user == os.geteuid()
            else ["setpriv", "--reuid", str(user), "--clear-groups", "--", *command]
        )

    for above in (folder, *folder.parents[:-2]):
        if above.stat().st_uid == os.geteuid():
            above.chmod(0o755)
    limits = replace(LIMITS, seconds=3.0) if source == DAEMONS else FEW
    blamed(ended(folder, [str(program)], limits, by_group=by_group, wall=none), reached)


@needs_namespaces
def test_a_tree_that_used_its_share_is_to_blame_whatever_others_use(folder: Path, by_group: bool) -> None:
    """Others write as much and more at the same time, on the same disk."""
    writes = [
        "sh",
        "-c",
        "trap 'kill $!; wait; exit' TERM; head -c 1500M /dev/zero > others & wait; sleep 60 & wait",
    ]
    others = subprocess.Popen(writes, cwd=folder.parent)
    try:
        command = ["sh", "-c", FILLER.format(path="."), str(folder)]
        blamed(ended(folder, command, LIMITS, by_group=by_group), "filled the disk")
    finally:
        others.terminate()
        others.wait()
        (folder.parent / "others").unlink()


MANY = """
#include <unistd.h>
int main(void)
{
	for (int i = 0; i < 600; i++)
		if (fork() == 0)
			for (;;)
				pause();
	write(1, "many", 4);
	pause();
}
"""


@needs_namespaces
@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user starts nothing as another one")
def test_many_processes_of_another_user_do_not_end_a_build(folder: Path) -> None:
    program = compiled(folder.parent, "many", MANY)
    for above in (folder.parent, *folder.parent.parents[:-2]):
        above.chmod(0o755)
    watch = Watch(watched_from_here(FEW))
    argv = ["setpriv", "--reuid", str(user - 1), "--clear-groups", "--", str(program)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as others:
        try:
            assert others.stdout is not None
            assert others.stdout.read(4) == b"many"
            glances = [watch.glance() for _ in range(10)]
        finally:
            alive(str(program), signal.SIGKILL)

    assert glances == [None] * 10


IN_A_CONTAINER = """
import subprocess, sys
from dataclasses import replace
from cliffwatch_runner.host.capacity import threads_running
from cliffwatch_runner.sandbox.limits import host_limits
from cliffwatch_runner.sandbox.process_tree import threads_of_others
from cliffwatch_runner.sandbox.watching import Watch, WatchRequest

limits, running, others = replace(host_limits(60.0), processes=400), threads_running(), threads_of_others(0)
watch = Watch(
    WatchRequest(limits=limits, disks={}, user=0, group=None, root=None, threads=running, threads_of_others=others, shared=0)
)
print("begun", flush=True)
inside = sys.stdin.readline().strip()
if inside:
    assert subprocess.Popen([inside], stdout=subprocess.PIPE).stdout.read(4) == b"many"
print(watch.glance(), flush=True)
"""


@needs_namespaces
@pytest.mark.parametrize(("where", "reason"), [("outside", "None"), ("inside", "processes")])
def test_in_a_container_processes_outside_of_it_are_others(folder: Path, where: str, reason: str) -> None:
    """The kernel's count is the whole host's there, and whose they are is not to be seen."""
    program = compiled(folder, "many", MANY)
    within = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child", "--mount-proc"]
    watch = [*within, sys.executable, "-c", IN_A_CONTAINER]
    with subprocess.Popen(watch, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as container:
        assert container.stdin is not None
        assert container.stdout is not None
        assert container.stdout.readline() == "begun\n"
        try:
            if where == "outside":
                many = subprocess.Popen([program], stdout=subprocess.PIPE)
                assert many.stdout is not None
                assert many.stdout.read(4) == b"many"
            container.stdin.write(f"{program if where == 'inside' else ''}\n")
            container.stdin.flush()
            seen = container.stdout.readline().strip()
        finally:
            alive(str(program), signal.SIGKILL)
    if where == "outside":
        many.communicate()

    assert seen == reason


def test_a_process_that_ends_while_its_host_is_counted_is_no_error(tmp_path: Path) -> None:
    """Its folder is still there, and whatever is looked for in it is "no such process"."""
    with subprocess.Popen(["sleep", "60"]) as gone:
        folder = os.open(f"/proc/{gone.pid}", os.O_RDONLY | os.O_DIRECTORY)
        gone.kill()
    (tmp_path / "loadavg").write_text("0.00 0.00 0.00 1/7 100\n")
    (tmp_path / str(gone.pid)).symlink_to(f"/proc/self/fd/{folder}")
    with pytest.raises(ProcessLookupError):
        (tmp_path / str(gone.pid) / "status").stat()

    assert threads_of(os.geteuid(), tmp_path) == 0
    assert threads_of_others(os.geteuid(), tmp_path) == 7
    os.close(folder)


def test_what_root_starts_is_not_an_ordinary_users(tmp_path: Path) -> None:
    """Else a package that root installs beside a build ends the build of everybody."""
    (tmp_path / "loadavg").write_text("0.00 0.00 0.00 1/7 100\n")
    (tmp_path / "1").symlink_to("/proc/1")

    assert threads_of_others(12345, tmp_path) == 7


def test_a_process_that_lets_nobody_look_is_its_users(tmp_path: Path) -> None:
    """Its folder in /proc is root's, and a bomb could hide behind that."""
    unreadable = "import ctypes; ctypes.CDLL(None).prctl(4, 0, 0, 0, 0); print(flush=True); input()"
    argv = [sys.executable, "-c", unreadable]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        (tmp_path / "loadavg").write_text("0.00 0.00 0.00 1/7 100\n")
        (tmp_path / str(process.pid)).symlink_to(f"/proc/{process.pid}")

        assert threads_of_others(os.geteuid(), tmp_path) == 6
        process.communicate(b"\n")


@needs_namespaces
def test_a_disk_that_others_fill_is_not_the_trees_fault(folder: Path, by_group: bool) -> None:
    full = replace(LIMITS, spare_disk=shutil.disk_usage(folder).total)

    failure = ended(folder, ["sh", "-c", "sleep 1000; true", str(folder)], full, by_group=by_group)

    assert failure is not None
    assert failure.whose == "host"
    assert "disk" in failure.message


@needs_namespaces
def test_memory_that_others_use_is_not_the_trees_fault(folder: Path, by_group: bool) -> None:
    failure = ended(
        folder,
        ["sh", "-c", "sleep 1000; true", str(folder)],
        replace(LIMITS, spare_memory=1 << 60),
        by_group=by_group,
    )

    assert failure is not None
    assert failure.whose == "host"
    assert "memory" in failure.message


def test_root_whom_nothing_limits_runs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cliffwatch_runner.sandbox.limits.make_group", lambda *_: None)
    host, own = tmp_path / "host", tmp_path / "own"
    host.write_text("         0          0 4294967295\n")
    own.write_text("         0       1000          1\n")

    refused = refuse_root(0, host)

    assert refused is not None
    assert "ordinary user" in refused.next_step
    assert refuse_root(0, own) is None
    assert refuse_root(1000, host) is None


def test_limits_of_a_host_leave_something_to_it(tmp_path: Path) -> None:
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal:       16000000 kB\nMemAvailable:   15000000 kB\n")

    limits = host_limits(3600.0, meminfo)

    assert limits.memory_bytes == 12000000 << 10
    assert limits.seconds == 3600.0
    assert math.isclose(limits.spare_memory, 512 * MIB)


def test_a_containers_engine_is_told_the_limits() -> None:
    words = FEW.container_arguments()

    assert words == ["--memory", "419430400", "--memory-swap", "419430400", "--pids-limit", "400"]


def test_a_user_raises_limits_by_name() -> None:
    raised = change_limits(LIMITS, ["memory=2G", "processes=9000", "disk=1G", "hours=0.5"])

    assert isinstance(raised, SandboxLimits)
    assert (raised.memory_bytes, raised.processes, raised.disk_bytes, raised.seconds) == (
        2048 * MIB,
        9000,
        1024 * MIB,
        1800,
    )


@pytest.mark.parametrize(
    "word",
    [
        "",
        "memory",
        "memory=",
        "memory=much",
        "processes=0",
        "processes=-1",
        "processes=²",
        f"processes={'9' * 5000}",
        f"hours={'9' * 400}",
        "hours=0",
        "hours=nan",
        "swap=1G",
        "disk=0",
    ],
)
def test_what_is_no_limit_is_refused(word: str) -> None:
    refused = change_limits(LIMITS, [word])

    assert isinstance(refused, Failure)
    assert refused.whose == "usage"
    assert "memory=32G" in refused.next_step
