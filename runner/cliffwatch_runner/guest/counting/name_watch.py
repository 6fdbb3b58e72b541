"""Asks now and then, while a guest runs, for what lies in its memory: the BPF code of the case that it is in,
by name and with that of its programs, and the objects of its process.
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
"""In the place of a case, where the guest is in none yet: objects of the processes that prepare it."""

_EVERY_SECONDS = 1.0
_MOST_CASES = 10_000
"""By name, of which a guest may make up any."""

_MOST_PIECES = 100_000
_MOST_OF_CASE = 2000
"""Memory that grows is another piece at every look: a long case must not take the room of those after it."""

_MOST_BYTES = 8 << 20
"""Of programs, of one start of a guest: two hundred of the longest that benchmarks have."""

P = TypeVar("P", BpfCode, MappedObject)


@dataclass(frozen=True, slots=True)
class NameSources:
    """Whom to ask for names: both through one monitor."""

    monitor: Monitor
    bpf: BpfNames
    objects: UserObjects


class NameWatch:
    """Collects names and code until it is closed, from nobody where `names` is None. `results` is the folder
    that the guest writes, where it says which case it is in.
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
        """The guest has been started; without anybody to ask nothing is begun."""
        if self._names is not None:
            self._thread.start()

    def close(self) -> None:
        """Ends the asking and waits for it."""
        self._closing.set()
        if self._thread.ident is not None:
            self._thread.join()
        if self._names is not None:
            self._names.monitor.close()

    def write(self, folder: Path) -> None:
        """Raises OSError where the host cannot keep them."""
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
        """Reads what the guest has now, as a part of this case: of no other, should it have ended."""
        assert self._names is not None
        code = self._names.bpf.now()
        programs = self._names.bpf.programs(self._programs.to_read(case, code))
        if self._case() == case:  # of a case that has ended meanwhile the code may be another one's
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
    """The code of programs by case. What a kernel attaches to a program it writes into it, so that code is
    read until two looks in turn read the same.
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
    """What was collected, by the name of the case, what was seen most often first; nothing where
    nothing was.
    """
    return _read(folder / BPF_CODE, BpfCode)


def read_user_objects(folder: Path) -> Mapping[str, Sequence[MappedObject]]:
    """The objects of the processes of each case, what was seen most often first; nothing where
    nothing was.
    """
    return _read(folder / USER_OBJECTS, MappedObject)


def read_bpf_bytes(folder: Path) -> Mapping[str, Mapping[BpfCode, bytes]]:
    """The code of programs that was collected, by the name of the case; nothing where nothing was."""
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
