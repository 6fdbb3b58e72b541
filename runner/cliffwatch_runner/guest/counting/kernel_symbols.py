"""The functions of a kernel by their addresses, from its System.map."""

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

MARK = "comm_write"
"""The kernel's function behind /proc/PID/comm, into which the agent alone writes."""

TICK = "it_real_fn"
"""The kernel's function behind setitimer(2), by which bench takes a reading each second."""

SYSTEM_MAP = "System.map"
LARGEST_MAP_BYTES = 128 << 20
_LINE = re.compile(rb"^([0-9a-f]{16}) ([TtWw]) ([!-~]{1,190})$", re.MULTILINE)
_TEXT = (b"_stext", b"_etext", b"_sinittext", b"_einittext")
_BOUND = re.compile(rb"^([0-9a-f]{16}) \S (_stext|_etext|_sinittext|_einittext)$", re.MULTILINE)
_NO_FUNCTION = re.compile(rb"^(__pfx_|__cfi_|_stext$|_sinittext$|_text$|__[a-z_]*text(_start|_end)$|\.L)")


@dataclass(frozen=True, slots=True)
class KernelFunction:
    """A function of the kernel's text: where it begins and ends. Symbols that appear more than once are told apart by `@` and their
    ordinal in the order of addresses, after the name of all but the first.
    """

    start: int
    end: int
    name: str


def kernel_functions(system_map: bytes) -> tuple[KernelFunction, ...]:
    """The functions in the order of their addresses. Of several names for one address the first in the order of the alphabet that begins
    with no underscore stands for all. A function ends where the next begins: what pads it is never executed.

    A map of someone else's making gives wrong names at worst; one without its bounds gives nothing.
    """
    bounds = {match[2]: int(match[1], 16) for match in _BOUND.finditer(system_map)}
    if any(name not in bounds for name in _TEXT[:2]):
        return ()
    spans = [(bounds[b"_stext"], bounds[b"_etext"]), (bounds.get(b"_sinittext", 0), bounds.get(b"_einittext", 0))]
    return tuple(each for span in spans for each in _functions(_names(system_map, *span), span[1]))


def _names(system_map: bytes, start: int, end: int) -> dict[int, str]:
    names: dict[int, str] = {}
    for match in _LINE.finditer(system_map):
        address = int(match[1], 16)
        if not start <= address < end or _NO_FUNCTION.match(match[3]):
            continue
        name = match[3].decode(errors="replace")
        names[address] = min(names.get(address, name), name, key=_preference)
    return names


def _preference(name: str) -> tuple[bool, str]:
    return name.startswith("_"), name


def _functions(names: dict[int, str], end: int) -> Iterator[KernelFunction]:
    ordinals: defaultdict[str, int] = defaultdict(int)
    addresses = sorted(names)
    for address, following in pairwise([*addresses, end]):
        name = names[address]
        ordinals[name] += 1
        which = ordinals[name]
        yield KernelFunction(address, following, name if which == 1 else f"{name}@{which}")


def address_of(system_map: bytes, name: str) -> int | None:
    """The address of a symbol that a kernel has once; None of others."""
    found = re.findall(rb"(?m)^([0-9a-f]{16}) [TtWwDdBbRr] " + re.escape(name.encode()) + rb"$", system_map)
    return int(found[0], 16) if len(found) == 1 else None


def read_system_map(folder: Path) -> bytes | None:
    """The map beside a kernel's image; None of a kernel that came without one."""
    try:
        with (folder / SYSTEM_MAP).open("rb") as file:
            return file.read(LARGEST_MAP_BYTES)
    except OSError:
        return None
