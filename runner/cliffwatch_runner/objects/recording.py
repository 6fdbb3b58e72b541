"""Reads the constants and sizes of a loaded object's maps from what `bpftool -j map` prints.

Raw bytes of a map's only value are taken as well.
"""

import json
from collections.abc import Mapping
from pathlib import Path

from cliffwatch.failure import Failure, wrong_usage
from cliffwatch.formats.reading import convert_to
from cliffwatch.formats.values import Part
from cliffwatch.parsers.readings import Problem
from cliffwatch.parsers.received.opening import read_limited
from cliffwatch_runner import process
from cliffwatch_runner.objects.configuration import RODATA

_SECONDS = 60.0
_MOST_BYTES = 64 << 20


Loaded = tuple[dict[str, bytes], dict[str, int]]
"""Content of constants by section, and `max_entries` by the name that the kernel keeps."""


class Owner(Part, frozen=True, kw_only=True):
    """A process that holds a map."""

    pid: int


class LoadedMap(Part, frozen=True, kw_only=True):
    """A map as `bpftool -j map show` lists it; other members are ignored."""

    id: int
    name: str = ""
    max_entries: int = 0
    pids: tuple[Owner, ...] = ()
    """Processes that hold it."""


class Entry(Part, frozen=True, kw_only=True):
    """An entry as `bpftool -j map dump` prints it; other members are ignored."""

    value: tuple[str, ...]
    """Bytes, such as "0x2a"."""


def read_maps(text: str) -> tuple[LoadedMap, ...] | str:
    """Reads what `bpftool -j map show` printed. Returns what is wrong with it as text."""
    try:
        read = convert_to(json.loads(text), tuple[LoadedMap, ...])
    except (ValueError, RecursionError):
        return "it is not what `bpftool -j map show` prints"
    return str(read) if isinstance(read, Problem) else read


def read_value(content: bytes) -> bytes | str:
    """Reads the only value of a map, from `bpftool -j map dump` or as raw bytes."""
    if not content.lstrip().startswith(b"["):
        return content
    wrong = "it is not what `bpftool -j map dump` prints of a map with one entry"
    try:
        entries = convert_to(json.loads(content), tuple[Entry, ...])
        if isinstance(entries, Problem) or len(entries) != 1:
            return wrong
        return bytes(int(byte, 16) for byte in entries[0].value)
    except (ValueError, RecursionError):
        return wrong


def sizes_of(maps: tuple[LoadedMap, ...]) -> dict[str, int]:
    """`max_entries` by the name that the kernel keeps."""
    return {each.name: each.max_entries for each in maps if each.name}


def section_of(name: str) -> str | None:
    """The section whose constants a map holds, by its name (`layers.rodata`); None for other maps."""
    place = name.find(RODATA)
    return name[place:] if place >= 0 else None


def read_process(pid: int) -> Loaded | Failure:
    """Reads constants and sizes of the maps that a process holds, by bpftool. Needs root."""
    shown = _ask("show")
    if isinstance(shown, Failure):
        return shown
    listed = read_maps(shown)
    if isinstance(listed, str):
        return _unreadable("map show", listed)
    held = tuple(each for each in listed if any(owner.pid == pid for owner in each.pids))
    if not held:
        return wrong_usage(
            f"process {pid} holds no map",
            "name the process that loaded the object; maps have no processes in kernels before 5.8",
        )
    rodata: dict[str, bytes] = {}
    for each in held:
        section = section_of(each.name)
        if section is None:
            continue
        dump = _ask("dump", "id", str(each.id))
        value = dump if isinstance(dump, Failure) else read_value(dump.encode())
        if isinstance(value, Failure):
            return value
        if isinstance(value, str):
            return _unreadable("map dump", value)
        rodata[section] = value
    return rodata, sizes_of(held)


def read_files(rodata: Mapping[str, Path], maps: Path | None) -> Loaded | Failure:
    """Reads constants and sizes from saved output of bpftool."""
    values: dict[str, bytes] = {}
    try:
        for section, file in rodata.items():
            value = read_value(read_limited(file))
            if isinstance(value, str):
                return wrong_usage(f"{file}: {value}", "save the output of `bpftool -j map dump name …`")
            values[section] = value
        listed = read_maps(read_limited(maps).decode(errors="replace")) if maps is not None else ()
    except OSError as error:
        return wrong_usage(f"{error.filename} cannot be read: {error.strerror}", "check the path")
    if isinstance(listed, str):
        return wrong_usage(f"{maps}: {listed}", "save the output of `bpftool -j map show`")
    return values, sizes_of(listed)


def _ask(*words: str) -> str | Failure:
    try:
        ended = process.run(["bpftool", "-j", "map", *words], deadline=_SECONDS, keep=_MOST_BYTES)
    except FileNotFoundError:
        return wrong_usage(
            "bpftool is not on PATH",
            "install it, or save the output of `bpftool -j map` elsewhere and use --rodata and --maps",
        )
    if ended.ok:
        return ended.output
    return wrong_usage(
        f"`bpftool -j map {' '.join(words)}` failed",
        "install bpftool and run this as root, or save its output there and use --rodata and --maps",
        ended.output[-2000:],
    )


def _unreadable(what: str, why: str) -> Failure:
    return wrong_usage(f"the output of `bpftool -j {what}` cannot be read: {why}", "update bpftool")
