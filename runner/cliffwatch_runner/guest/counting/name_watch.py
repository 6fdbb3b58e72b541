"""Samples the memory of a running guest once a second.

Collects, for the current case, the names of BPF code, the code of BPF programs, and the objects of the
process.
"""

import json
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from cliffwatch_runner.guest.counting.bpf_names import BpfCode, BpfNames
from cliffwatch_runner.guest.counting.monitor import Monitor
from cliffwatch_runner.guest.counting.user_objects import MappedObject, UserObjects
from cliffwatch_runner.guest.files import current_case

BPF_CODE, BPF_BYTES = "bpf-code", "bpf-bytes"
USER_OBJECTS = "user-objects"
BEFORE = ""
"""Stands for the case while the guest is in none yet: objects of the processes that prepare it."""

_EVERY_SECONDS = 1.0
_MOST_CASES = 10_000
"""Limit, because a guest may make up any name of a case."""

_MOST_PIECES = 100_000
_MOST_OF_CASE = 2000
"""Growing memory is a new piece at every look.

The limit keeps a long case from using up the room of later cases.
"""

_MOST_BYTES = 8 << 20
"""Limit of program code per start of a guest: two hundred programs of the largest size in benchmarks."""

P = TypeVar("P", BpfCode, MappedObject)


@dataclass(frozen=True, slots=True)
class NameSources:
    """Sources of names in one guest, which share a monitor."""

    monitor: Monitor
    bpf: BpfNames
    objects: UserObjects


class NameWatch:
    """Collects names and code in a thread until it is closed; does nothing if `names` is None.

    `results` is the folder that the guest writes. It names the current case there.
    """

    def __init__(self, names: NameSources | None, results: Path) -> None:
        self._names = names
        self._results = results
        self._closing = threading.Event()
        self._code: dict[str, Counter[BpfCode]] = {}
        self._objects: dict[str, Counter[MappedObject]] = {}
        self._programs = _Programs()
        self._thread = threading.Thread(target=self._watch, name="bpf-names", daemon=True)

    def begin(self) -> None:
        """Starts collecting. Call it once the guest has started."""
        if self._names is not None:
            self._thread.start()

    def close(self) -> None:
        """Stops collecting, and waits for the thread."""
        self._closing.set()
        if self._thread.ident is not None:
            self._thread.join()
        if self._names is not None:
            self._names.monitor.close()

    def write(self, folder: Path) -> None:
        """Writes the collected names and code. Raises OSError if the host cannot write them."""
        for name, seen in ((BPF_CODE, self._code), (USER_OBJECTS, self._objects)):
            (folder / name).write_text(json.dumps({case: _pieces(of_case) for case, of_case in seen.items()}))
        (folder / BPF_BYTES).write_text(json.dumps(self._programs.as_json()))

    def _watch(self) -> None:
        while not self._closing.wait(_EVERY_SECONDS):
            case = self._case()
            if case is not None:
                self.look(case)
            elif self._names is not None:
                _take(BEFORE, self._names.objects.now(), self._objects)

    def look(self, case: str) -> None:
        """Reads the guest's memory for this case, and drops the result if the case has ended meanwhile."""
        assert self._names is not None
        code = self._names.bpf.now()
        programs = self._names.bpf.programs(self._programs.to_read(case, code))
        if self._case() == case:  # if the case has ended meanwhile, the code may be another case's
            _take(case, code, self._code)
            self._programs.take(case, programs)
        objects = self._names.objects.now()
        if self._case() == case:
            _take(case, objects, self._objects)

    def _case(self) -> str | None:
        return current_case(self._results)


def _take(case: str, pieces: Sequence[P], seen: dict[str, Counter[P]]) -> None:
    if sum(map(len, seen.values())) < _MOST_PIECES and (case in seen or len(seen) < _MOST_CASES):
        of_case = seen.setdefault(case, Counter())
        of_case.update([each for each in pieces if each in of_case or len(of_case) < _MOST_OF_CASE])


class _Programs:
    """The code of programs by case.

    A kernel patches a program when it attaches to it, so code is read again until two looks in a row agree.
    """

    def __init__(self) -> None:
        self._read: dict[str, dict[BpfCode, bytes]] = {}
        self._settled: set[tuple[str, BpfCode]] = set()
        self._bytes = 0

    def to_read(self, case: str, pieces: Sequence[BpfCode]) -> list[BpfCode]:
        return [each for each in pieces if (case, each) not in self._settled]

    def take(self, case: str, programs: Mapping[BpfCode, bytes]) -> None:
        for code, content in programs.items():
            known = self._read.get(case, {}).get(code)
            if known == content:
                self._settled.add((case, code))
            elif known is not None or self._bytes + len(content) <= _MOST_BYTES:
                self._bytes += len(content) if known is None else 0
                self._read.setdefault(case, {})[code] = content

    def as_json(self) -> dict[str, list[tuple[int, int, str, str]]]:
        return {
            case: [(each.start, each.end, each.name, content.hex()) for each, content in read.items()]
            for case, read in self._read.items()
        }


def _pieces(seen: "Counter[BpfCode] | Counter[MappedObject]") -> list[tuple[int, int, str]]:
    return [(each.start, each.end, each.name) for each, _ in seen.most_common()]


def read_bpf_code(folder: Path) -> Mapping[str, Sequence[BpfCode]]:
    """Reads the collected BPF code by case, most often seen first; empty if there is none."""
    return _read(folder / BPF_CODE, BpfCode)


def read_user_objects(folder: Path) -> Mapping[str, Sequence[MappedObject]]:
    """Reads the objects of the processes by case, most often seen first; empty if there are none."""
    return _read(folder / USER_OBJECTS, MappedObject)


def read_bpf_bytes(folder: Path) -> Mapping[str, Mapping[BpfCode, bytes]]:
    """Reads the collected code of programs by case; empty if there is none."""
    with suppress(OSError, ValueError):
        content = json.loads((folder / BPF_BYTES).read_text())
        return {
            case: {BpfCode(start, end, name): bytes.fromhex(code) for start, end, name, code in programs}
            for case, programs in content.items()
        }
    return {}


def _read(path: Path, kind: Callable[[int, int, str], P]) -> Mapping[str, Sequence[P]]:
    with suppress(OSError, ValueError):
        content = json.loads(path.read_text())
        return {case: tuple(kind(*piece) for piece in pieces) for case, pieces in content.items()}
    return {}
