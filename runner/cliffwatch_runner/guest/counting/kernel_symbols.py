"""Reads the functions of a kernel and their addresses from its System.map."""

import re
from dataclasses import dataclass
from pathlib import Path

from cliffwatch_runner.build.code.symbols import read_names

_SYMBOL = re.compile(rb"(?m)^([0-9a-f]{16}) [TtWwDdBbRr] (\S+)$")
MARK = "timerslack_ns_write"
"""The kernel function behind /proc/PID/timerslack_ns, which marks the start of a case.

Only the agent writes there. Other files would not do: benchmarks of renaming write comm, and udev writes
oom_score_adj.
"""

TICK = "it_real_fn"
"""The kernel function behind setitimer(2), with which bench takes a reading each second."""

SYSTEM_MAP = "System.map"
LARGEST_MAP_BYTES = 128 << 20


@dataclass(frozen=True, slots=True)
class KernelFunction:
    """A function in the kernel's text, from `start` to before `end`.

    If a name occurs more than once, all but the first (by address) have `@` and their ordinal appended.
    """

    start: int
    end: int
    name: str


def kernel_functions(system_map: bytes) -> tuple[KernelFunction, ...]:
    """Returns the functions in order of address, with the names that build comparison uses.

    See cliffwatch_runner.build.code for the names. A function ends where the next begins: padding is never
    executed. An untrusted map gives wrong names at worst; a map without the bounds of the text gives no
    functions.
    """
    return tuple(KernelFunction(start, end, name) for name, start, end in read_names(system_map).functions())


def find_address(system_map: bytes, name: str) -> int | None:
    """Returns the address of a symbol; None if it is missing or not unique."""
    found = [address for address, symbol in _SYMBOL.findall(system_map) if symbol == name.encode()]
    return int(found[0], 16) if len(found) == 1 else None


def read_system_map(folder: Path) -> bytes | None:
    """Reads the System.map next to a kernel's image; None if there is none."""
    try:
        with (folder / SYSTEM_MAP).open("rb") as file:
            return file.read(LARGEST_MAP_BYTES)
    except OSError:
        return None
