"""Refuses system calls that no compiler, make or emulator needs, in every sandbox.

This is a classic BPF program for bubblewrap's `--seccomp`. It lists refused calls: an allow list would break
with the next compiler. Call numbers that no kernel had when this was written get ENOSYS, as on an older
kernel, so that new calls stay refused until somebody has reviewed them.
"""

import errno
import platform
import struct
from collections.abc import Iterator, Mapping, Sequence

_DESCRIPTOR = "9"
"""Descriptor from which bubblewrap reads the program.

A single digit, because POSIX shells redirect no others.
"""

_MOVED = f'exec "$@" {_DESCRIPTOR}<&0 </dev/null'

_X86_64 = 0xC000003E
_NEWEST = 466
"""removexattrat (6.13). Higher numbers are newer calls, and the x32 calls, which have bit 30 set."""

# fmt: off
_REFUSED: Mapping[int, Mapping[str, int]] = {
    errno.EPERM: {
        "mount": 165, "umount2": 166, "pivot_root": 155, "chroot": 161, "setns": 308, "unshare": 272,
        "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433, "open_tree": 428, "move_mount": 429,
        "mount_setattr": 442, "name_to_handle_at": 303, "open_by_handle_at": 304, "fanotify_init": 300,
        "kexec_load": 246, "kexec_file_load": 320, "reboot": 169, "swapon": 167, "swapoff": 168, "acct": 163,
        "init_module": 175, "finit_module": 313, "delete_module": 176, "iopl": 172, "ioperm": 173,
        "bpf": 321, "perf_event_open": 298, "userfaultfd": 323, "syslog": 103, "quotactl": 179,
        "quotactl_fd": 443,
        "ptrace": 101, "process_vm_readv": 310, "process_vm_writev": 311, "kcmp": 312, "pidfd_getfd": 438,
        "add_key": 248, "request_key": 249, "keyctl": 250, "sethostname": 170, "setdomainname": 171,
        "vhangup": 153,
        "settimeofday": 164, "clock_settime": 227, "adjtimex": 159, "clock_adjtime": 305, "modify_ldt": 154,
        # Of many sessions the scheduler gives each as much as all others of the host together get
        # (sched_autogroup).
        "setsid": 112,
        # Memory that belongs to no process and no file system of the sandbox: nobody could count it.
        "shmget": 29,
    },
    errno.ENOSYS: {
        # QEMU then waits with epoll, glibc makes threads with clone, whose flags a filter can look at.
        "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "clone3": 435,
        "memfd_secret": 447,
        "uselib": 134, "_sysctl": 156, "create_module": 174, "get_kernel_syms": 177, "query_module": 178,
        "nfsservctl": 180, "lookup_dcookie": 212,
    },
}
# fmt: on

_CLONE, _IOCTL, _PERSONALITY = 56, 16, 135
_SOCKETS = (41, 53)
_NEW_NAMESPACES = 0x7E020000
"""CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET."""

_TERMINAL_REQUESTS = (0x5412, 0x541C)
"""TIOCSTI and TIOCLINUX type into the terminal of the user who started the sandbox."""

_PERSONALITIES = (0, 0x8, 0x20000, 0x20008, 0xFFFFFFFF)
"""Linux and a 32-bit `uname`, as containers allow; not READ_IMPLIES_EXEC, which undoes W^X.

The last value only queries.
"""

_FAMILIES = (1, 2, 10, 16)
"""Unix, IPv4, IPv6 and netlink. Not vsock, which reaches the hypervisor from any network namespace."""

_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_LOAD, _RETURN, _IF_EQUAL, _IF_GREATER, _IF_ANY_BIT = 0x20, 0x06, 0x15, 0x25, 0x45
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
"""Offsets in struct seccomp_data. Of an argument the low 32 bits are loaded: the kernel looks at no others
here.
"""


def filter_program(machine: str | None = None) -> bytes | None:
    """Returns the program as bubblewrap reads it; None on machines other than x86-64.

    Their system calls have other numbers.
    """
    return b"".join(_program()) if (machine or platform.machine()) == "x86_64" else None


def filter_call(bwrap: Sequence[str]) -> list[str]:
    """Returns a bubblewrap call (its first word is `bwrap`) that applies the filter given on standard input.

    bubblewrap reads and closes the descriptor, and applies the filter in the sandbox just before the command,
    whose own standard input is empty. The filter is not passed as a path: if a process made itself
    undumpable, as the worker does, only root sees its files in /proc.
    """
    return ["sh", "-c", _MOVED, "sh", bwrap[0], "--seccomp", _DESCRIPTOR, *bwrap[1:]]


def _program() -> Iterator[bytes]:
    yield _step(_LOAD, _ARCHITECTURE)
    yield from _answer_if(_IF_EQUAL, _X86_64, _KILL, otherwise=True)
    yield _step(_LOAD, _NUMBER)
    yield from _answer_if(_IF_GREATER, _NEWEST, _ERRNO | errno.ENOSYS)
    for error, calls in _REFUSED.items():
        for number in calls.values():
            yield from _answer_if(_IF_EQUAL, number, _ERRNO | error)
    refused = _ERRNO | errno.EPERM
    yield from _of_call(
        _CLONE, 0, [*_answer_if(_IF_ANY_BIT, _NEW_NAMESPACES, refused), _step(_RETURN, _ALLOW)]
    )
    yield from _of_call(_IOCTL, 1, [*_any_of(_TERMINAL_REQUESTS, refused), _step(_RETURN, _ALLOW)])
    yield from _of_call(_PERSONALITY, 0, [*_any_of(_PERSONALITIES, _ALLOW), _step(_RETURN, refused)])
    unknown = _step(_RETURN, _ERRNO | errno.EAFNOSUPPORT)
    for number in _SOCKETS:
        yield from _of_call(number, 0, [*_any_of(_FAMILIES, _ALLOW), unknown])
    yield _step(_RETURN, _ALLOW)


def _of_call(number: int, argument: int, steps: Sequence[bytes]) -> Iterator[bytes]:
    """Yields steps that inspect one argument of one call. They return in every case."""
    yield _step(_IF_EQUAL, number, unless=len(steps) + 1)
    yield _step(_LOAD, _ARGUMENTS + 8 * argument)
    yield from steps


def _any_of(values: Sequence[int], answer: int) -> Iterator[bytes]:
    for value in values:
        yield from _answer_if(_IF_EQUAL, value, answer)


def _answer_if(test: int, value: int, answer: int, *, otherwise: bool = False) -> Iterator[bytes]:
    """Returns `answer` if the test is true, or, with `otherwise`, if it is false."""
    yield _step(test, value, then=1) if otherwise else _step(test, value, unless=1)
    yield _step(_RETURN, answer)


def _step(code: int, value: int, *, then: int = 0, unless: int = 0) -> bytes:
    """Returns one struct sock_filter.

    `then` and `unless` are the steps to skip if a test is true or false.
    """
    return struct.pack("=HBBI", code, then, unless, value)
