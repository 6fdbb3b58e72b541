"""The functions of a kernel by their addresses, from its System.map."""

import re
from dataclasses import dataclass
from pathlib import Path

from cliffwatch_runner.build.code.symbols import read_names

_SYMBOL = re.compile(rb"(?m)^([0-9a-f]{16}) [TtWwDdBbRr] (\S+)$")
MARK = "timerslack_ns_write"
"""The kernel's function behind /proc/PID/timerslack_ns, into which the agent alone writes. Benchmarks of
renaming write into comm beside it, and udev into oom_score_adj.
"""

TICK = "it_real_fn"
"""The kernel's function behind setitimer(2), by which bench takes a reading each second."""

SYSTEM_MAP = "System.map"
LARGEST_MAP_BYTES = 128 << 20


@dataclass(frozen=True, slots=True)
class KernelFunction:
    """A function of the kernel's text: where it begins and ends. Symbols that appear more than once are told
    apart by `@` and their ordinal in the order of addresses, after the name of all but the first.
    """

    start: int
    end: int
    name: str


def kernel_functions(system_map: bytes) -> tuple[KernelFunction, ...]:
    """The functions in the order of their addresses, with the names by which builds are compared
    (cliffwatch_runner.build.code). A function ends where the next begins: what pads it is never executed.

    A map of someone else's making gives wrong names at worst; one without its bounds gives nothing.
    """
    return tuple(KernelFunction(start, end, name) for name, start, end in read_names(system_map).functions())


def find_address(system_map: bytes, name: str) -> int | None:
    """The address of a symbol that a kernel has once; None of others."""
    found = [address for address, symbol in _SYMBOL.findall(system_map) if symbol == name.encode()]
    return int(found[0], 16) if len(found) == 1 else None


def read_system_map(folder: Path) -> bytes | None:
    """The map beside a kernel's image; None of a kernel that came without one."""
    try:
        with (folder / SYSTEM_MAP).open("rb") as file:
            return file.read(LARGEST_MAP_BYTES)
    except OSError:
        return None
