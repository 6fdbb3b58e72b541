"""What a build's programs ask of the kernel and do not get, and what they need and do get."""

import errno
import platform
import shutil
import subprocess
from pathlib import Path

import pytest
from bare_sandbox import compiled, needs_namespaces, sandboxed

from cliffwatch_runner.host.kvm_probe import probe_rom
from cliffwatch_runner.sandbox import seccomp_filter
from cliffwatch_runner.sandbox.seccomp_filter import filter_call, filter_program

pytestmark = [
    pytest.mark.skipif(platform.machine() != "x86_64", reason="the filter is for x86-64 alone"),
    needs_namespaces,
]

NEVER_NEEDED = (
    *(
        "mount",
        "umount2",
        "pivot_root",
        "chroot",
        "fsopen",
        "fsconfig",
        "fsmount",
        "fspick",
        "open_tree",
        "move_mount",
    ),
    *(
        "mount_setattr",
        "kexec_load",
        "kexec_file_load",
        "bpf",
        "perf_event_open",
        "ptrace",
        "process_vm_readv",
    ),
    *(
        "process_vm_writev",
        "add_key",
        "request_key",
        "keyctl",
        "userfaultfd",
        "io_uring_setup",
        "io_uring_enter",
    ),
    *(
        "io_uring_register",
        "init_module",
        "finit_module",
        "delete_module",
        "reboot",
        "swapon",
        "swapoff",
        "setns",
    ),
    *(
        "unshare",
        "clone3",
        "name_to_handle_at",
        "open_by_handle_at",
        "acct",
        "quotactl",
        "syslog",
        "settimeofday",
    ),
    *("clock_settime", "adjtimex", "clock_adjtime", "iopl", "ioperm"),
)

TRIES = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void try(const char *name, long number, long a, long b)
{
	errno = 0;
	long got = syscall(number, a, b, 0, 0, 0, 0);
	if (number == SYS_clone && got == 0)
		_exit(0);
	printf("%s %d\n", name, got < 0 ? errno : 0);
}

static void i386(void)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		long got = 20; /* getpid of the other table */
		__asm__ volatile("int $0x80" : "+a"(got) : : "r8", "r9", "r10", "r11", "memory");
		_exit(0);
	}
	waitpid(child, &status, 0);
	printf("i386 %d\n", WIFSIGNALED(status) ? -WTERMSIG(status) : 0);
}

int main(void)
{
	setbuf(stdout, NULL);
CALLS
	try("clone-user", SYS_clone, CLONE_NEWUSER | SIGCHLD, 0);
	try("clone-mount", SYS_clone, CLONE_NEWNS | SIGCHLD, 0);
	try("clone-net", SYS_clone, CLONE_NEWNET | SIGCHLD, 0);
	try("clone-plain", SYS_clone, SIGCHLD, 0);
	try("tiocsti", SYS_ioctl, 0, TIOCSTI);
	try("tioclinux", SYS_ioctl, 0, TIOCLINUX);
	try("tiocsti-high-bits", SYS_ioctl, 0, TIOCSTI | 1L << 32);
	try("fionread", SYS_ioctl, -1, FIONREAD);
	try("personality-ask", SYS_personality, 0xffffffff, 0);
	try("personality-wx", SYS_personality, READ_IMPLIES_EXEC, 0);
	try("vsock", SYS_socket, AF_VSOCK, SOCK_STREAM);
	try("packet", SYS_socket, AF_PACKET, SOCK_RAW);
	try("alg", SYS_socket, AF_ALG, SOCK_SEQPACKET);
	try("unix", SYS_socket, AF_UNIX, SOCK_STREAM);
	try("x32", 0x40000000 | SYS_getpid, 0, 0);
	try("not-yet-known", 900, 0, 0);
	i386();
	return 0;
}
"""


def run(folder: Path, command: list[str], *, filters: bool = True) -> subprocess.CompletedProcess[str]:
    sandbox = sandboxed(folder, command)
    argv, program = (filter_call(sandbox), filter_program()) if filters else (sandbox, b"")
    ended = subprocess.run(argv, input=program, capture_output=True, check=False, timeout=200)
    return subprocess.CompletedProcess(argv, ended.returncode, ended.stdout.decode(), ended.stderr.decode())


@pytest.fixture(scope="module")
def tried(tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    """What each call got in the sandbox: an error's number, 0 where it was done, a signal's below 0."""
    folder = tmp_path_factory.mktemp("tries")
    lines = [
        f'#ifdef SYS_{name}\n\ttry("{name}", SYS_{name}, -1, -1);\n#endif'
        for calls in seccomp_filter._REFUSED.values()
        for name in calls
    ]
    compiled(folder, "tries", TRIES.replace("CALLS", "\n".join(lines)))
    done = run(folder, ["./tries"])
    assert done.returncode == 0, done.stderr
    return {name: int(got) for name, got in (line.split() for line in done.stdout.splitlines())}


def test_no_call_of_the_list_reaches_the_kernel(tried: dict[str, int]) -> None:
    wanted = {name: error for error, calls in seccomp_filter._REFUSED.items() for name in calls}

    assert {name: tried[name] for name in wanted if name in tried} == {
        name: error for name, error in wanted.items() if name in tried
    }
    assert set(NEVER_NEEDED) <= set(tried)


def test_the_numbers_are_those_of_the_c_library() -> None:
    text = "#include <sys/syscall.h>\n" + "\n".join(
        f"{name}=SYS_{name}" for calls in seccomp_filter._REFUSED.values() for name in calls
    )
    done = subprocess.run(["gcc", "-E", "-P", "-"], input=text, capture_output=True, text=True, check=True)
    numbers = dict(line.split("=") for line in done.stdout.splitlines() if "=" in line)

    ours = {name: number for calls in seccomp_filter._REFUSED.values() for name, number in calls.items()}
    assert {name: int(number) for name, number in numbers.items() if number.isdigit()} == {
        name: number for name, number in ours.items() if numbers[name].isdigit()
    }
    assert all(number <= seccomp_filter._NEWEST for number in ours.values())


def test_nobody_makes_a_namespace_by_clone(tried: dict[str, int]) -> None:
    assert {tried["clone-user"], tried["clone-mount"], tried["clone-net"]} == {errno.EPERM}
    assert tried["clone-plain"] == 0


def test_nobody_types_into_the_terminal(tried: dict[str, int]) -> None:
    assert {tried["tiocsti"], tried["tioclinux"], tried["tiocsti-high-bits"]} == {errno.EPERM}
    assert tried["fionread"] == errno.EBADF


def test_pages_that_are_written_are_not_run(tried: dict[str, int]) -> None:
    assert tried["personality-wx"] == errno.EPERM
    assert tried["personality-ask"] == 0


def test_the_hypervisor_is_not_reached_by_a_socket(tried: dict[str, int]) -> None:
    """Vsock has no namespaces on most kernels: `--unshare-net` alone leaves a way out of a
    virtual machine.
    """
    assert {tried["vsock"], tried["packet"], tried["alg"]} == {errno.EAFNOSUPPORT}
    assert tried["unix"] == 0


def test_other_tables_of_calls_lead_nowhere(tried: dict[str, int]) -> None:
    assert tried["x32"] == errno.ENOSYS
    assert tried["i386"] == -31  # SIGSYS
    assert tried["not-yet-known"] == errno.ENOSYS


def test_a_build_goes_on_under_it(tmp_path: Path) -> None:
    (tmp_path / "one.c").write_text('#include <stdio.h>\nint main(void) { puts("built"); return 0; }\n')
    (tmp_path / "Makefile").write_text(
        "all: one\n\t./one\none: one.c\n\tccache gcc -O2 -pthread -flto -o $@ $<\n\tpython3 -c 'import"
        " subprocess, threading; t = threading.Thread(target=print, args=(1,)); t.start(); t.join();"
        ' subprocess.run(["true"], check=True)\'\n'
    )

    done = run(tmp_path, ["make", "-j2"])

    assert done.returncode == 0, done.stdout + done.stderr
    assert "built" in done.stdout


@pytest.mark.skipif(shutil.which("qemu-system-x86_64") is None, reason="QEMU is not installed")
@pytest.mark.parametrize("sleep", ["on", "off"])
def test_the_emulator_runs_under_it(tmp_path: Path, sleep: str) -> None:
    """QEMU would wait with io_uring if it could; the doctor's probe guest leaves through the debug port."""
    (tmp_path / "rom").write_bytes(probe_rom())

    done = run(
        tmp_path,
        [
            *("timeout", "120", "qemu-system-x86_64", "-machine", "q35", "-accel", "tcg"),
            *("-icount", f"shift=0,sleep={sleep}", "-nodefaults", "-display", "none", "-bios", "rom"),
            *("-device", "isa-debug-exit,iobase=0xf4,iosize=4", "-qmp", "unix:monitor,server=on,wait=off"),
        ],
    )

    assert done.returncode == 2 * 0x2A + 1, done.stdout + done.stderr


def test_another_machine_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")

    assert filter_program() is None


def test_without_the_filter_the_calls_reach_the_kernel(tmp_path: Path) -> None:
    """So that the tests above say something of the filter and not of the namespaces."""
    done = run(tmp_path, ["unshare", "--user", "true"], filters=False)
    under = run(tmp_path, ["unshare", "--user", "true"])

    assert done.returncode == 0, done.stderr
    assert under.returncode != 0
