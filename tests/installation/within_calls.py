"""A command that may ask of the kernel only what a unit's SystemCallFilter= lists: `within_calls.py 'WORD
WORD …' COMMAND…`.
"""

import ctypes
import os
import subprocess
import sys

_REFUSE, _ALLOW = 0x00050000 | 1, 0x7FFF0000
_NO_NEW_PRIVILEGES = 38


def names(word: str) -> set[str]:
    """The system calls of a group, as systemd knows it; of a system call's name, itself."""
    if not word.startswith("@"):
        return {word}
    argv = ["systemd-analyze", "--no-pager", "syscall-filter", word]
    listed = subprocess.run(argv, capture_output=True, text=True, check=True).stdout.splitlines()[1:]
    inner = [line.strip() for line in listed if line.strip() and not line.strip().startswith("#")]
    return set().union(*map(names, inner))


def main() -> None:
    words, command = sys.argv[1].split(), sys.argv[2:]
    library = ctypes.CDLL("libseccomp.so.2")
    library.seccomp_init.restype = ctypes.c_void_p
    context = ctypes.c_void_p(library.seccomp_init(_REFUSE))
    for name in set().union(
        *map(names, [*words, "@default"])
    ):  # systemd adds @default to every list of what is allowed
        number = library.seccomp_syscall_resolve_name(name.encode())
        if number >= 0 and library.seccomp_rule_add(context, _ALLOW, number, 0) != 0:
            sys.exit(f"no rule for {name}")
    ctypes.CDLL(None).prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    if library.seccomp_load(context) != 0:
        sys.exit("the filter was not taken")
    os.execvp(command[0], command)


main()
