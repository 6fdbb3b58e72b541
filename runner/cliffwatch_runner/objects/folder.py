"""Packs a user's folder of BPF objects for the guests: objects, inputs of their programs, configurations.

| beside `NAME.o` or `NAME.bpf.o` | what |
|---|---|
| `NAME.data`, `NAME.INPUT.data` | a packet |
| `NAME.ctx`, `NAME.INPUT.ctx` | a context, alone or with the packet of the same name |
| `NAME.pcap`, `NAME.INPUT.pcap` | packets, each an input: `1`, `2`, … or `INPUT-1`, … |
| `NAME.CONFIGURATION.json` | a recorded configuration |
"""

import hashlib
import io
import re
import tarfile
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from cliffwatch.counting import size_text
from cliffwatch.failure import Failure, wrong_usage
from cliffwatch.parsers.received.opening import read_limited
from cliffwatch_runner.build.programs.objects import ARCHIVE
from cliffwatch_runner.guest.programs import GuestData, OwnObject
from cliffwatch_runner.objects.captures import packets_of
from cliffwatch_runner.objects.configuration import configured, read_configuration

MOST_OBJECTS = 2000
_INPUTS = (".data", ".ctx", ".pcap")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,49}", re.ASCII)


@dataclass(frozen=True, slots=True)
class _Beside:
    """The files beside one object."""

    inputs: dict[str, None] = field(default_factory=dict)
    """Names in order; empty for the only one without a name."""
    configurations: dict[str, None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Fault(Exception):
    """A file that cannot be used."""

    failure: Failure


def objects_of_folder(folder: Path, limit: int) -> GuestData | Failure:
    """Packs the `*.o` files of a folder, with the files beside them, into one archive for the guests.

    `limit`: bytes of all files.
    """
    try:
        found = sorted(path for path in folder.glob("*.o") if path.is_file())
        wrong = next(_find_faults(folder, found), None)
        if wrong is not None:
            return wrong
        content, objects = _pack(folder, found)
    except _Fault as fault:
        return fault.failure
    except OSError as error:
        return wrong_usage(
            f"--data: {error.filename or folder} cannot be read: {error.strerror}",
            "give plain files that you may read",
        )
    if len(content) > limit:
        return wrong_usage(
            f"--data: the objects of {folder} have {size_text(len(content))}, "
            f"and a guest takes at most {size_text(limit)}",
            "strip them (llvm-strip -g), or give fewer at a time: the guest keeps them in its memory",
        )
    return GuestData(
        name=ARCHIVE, content=content, digest=hashlib.sha256(content).hexdigest(), objects=objects
    )


def stem_of(name: str) -> str:
    """The name of an object's file without its endings."""
    return name.removesuffix(".o").removesuffix(".bpf")


def is_name(text: str) -> bool:
    """True if inputs and configurations may have this name."""
    return _NAME.fullmatch(text) is not None


def _find_faults(folder: Path, found: Collection[Path]) -> Iterator[Failure]:
    if not found:
        yield wrong_usage(f"--data: there is no object in {folder}", "name a folder with files called *.o")
    if len(found) > MOST_OBJECTS:
        yield wrong_usage(f"--data: {folder} has more than {MOST_OBJECTS} objects", "give fewer at a time")
    odd = next((each.name for each in found if not each.name.isprintable() or len(each.name) > 99), None)
    if odd is not None:
        yield wrong_usage(
            f"--data: the name {odd!r} in {folder} is too long, or not printable",
            "use at most 99 plain letters",
        )


def _pack(folder: Path, found: list[Path]) -> tuple[bytes, tuple[OwnObject, ...]]:
    """Raises _Fault, OSError."""
    packed = io.BytesIO()
    beside = {path.name: _Beside() for path in found}
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for path in found:
            _add(archive, path.name, read_limited(path))
        for path in sorted(folder.iterdir()):
            kind = path.suffix
            owner = _owner(path.name.removesuffix(kind), found)
            if kind in _INPUTS and owner is None:
                raise _Fault(
                    wrong_usage(
                        f"--data: {path} lies beside no object",
                        f"name it like its object: NAME{kind} beside NAME.o",
                    )
                )
            if owner is None or kind not in (*_INPUTS, ".json"):
                continue
            name = path.name.removesuffix(kind)[len(stem_of(owner.name)) + 1 :]
            if (name or kind == ".json") and not is_name(name):
                raise _Fault(_unusable(path, "its name has no word of letters after the object's"))
            if kind == ".json":
                _add(archive, f"recorded/{name}/{owner.name}", _configured(owner, path))
                beside[owner.name].configurations[name] = None
                continue
            for each, content in _inputs(path, name):
                _add(archive, f"inputs/{owner.name}/{each}{'.ctx' if kind == '.ctx' else '.data'}", content)
                beside[owner.name].inputs[each] = None
    objects = tuple(
        OwnObject(name=name, configurations=("", *each.configurations), inputs=tuple(each.inputs) or ("",))
        for name, each in beside.items()
    )
    return packed.getvalue(), objects


def _owner(name: str, found: Collection[Path]) -> Path | None:
    """The object that a file lies beside: the one with the longest name that fits."""
    fitting = [path for path in found if f"{name}.".startswith(f"{stem_of(path.name)}.")]
    return max(fitting, key=lambda path: len(path.name), default=None)


def _inputs(path: Path, name: str) -> Iterator[tuple[str, bytes]]:
    content = read_limited(path)
    if not content:
        raise _Fault(_unusable(path, "it is empty"))
    if path.suffix != ".pcap":
        yield name, content
        return
    packets = packets_of(content)
    if isinstance(packets, str):
        raise _Fault(_unusable(path, packets))
    for number, packet in enumerate(packets, 1):
        yield (f"{name}-{number}" if name else str(number)), packet


def _configured(owner: Path, path: Path) -> bytes:
    recorded = read_configuration(read_limited(path).decode(errors="replace"))
    if isinstance(recorded, str):
        raise _Fault(_unusable(path, recorded))
    content = configured(read_limited(owner), recorded)
    if isinstance(content, str):
        raise _Fault(_unusable(path, f"{owner.name}: {content}"))
    return content


def _unusable(path: Path, why: str) -> Failure:
    return wrong_usage(f"--data: {path} cannot be used: {why}", "fix it, or take it out of the folder")


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    archive.addfile(entry, io.BytesIO(content))
