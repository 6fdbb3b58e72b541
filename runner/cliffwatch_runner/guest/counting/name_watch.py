"""Asks now and then, while a guest runs, for the names of what lies in its memory: the BPF code of the case that it is in, and the objects of its process."""

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
from cliffwatch_runner.guest.files import read_guest_file

BPF_CODE = "bpf-code"
USER_OBJECTS = "user-objects"
_EVERY_SECONDS = 1.0
_MOST_PIECES = 100_000
_MOST_OF_CASE = 2000
"""Memory that grows is another piece at every look: a long case must not take the room of those after it."""

P = TypeVar("P", BpfCode, MappedObject)


@dataclass(frozen=True, slots=True)
class NamesOfGuest:
    """Whom to ask for names: both through one monitor."""

    monitor: Monitor
    bpf: BpfNames
    objects: UserObjects


class NameWatch:
    """Collects names until it is closed, from nobody where `names` is None. `results` is the folder that the guest writes, where it says which case it is in."""

    def __init__(self, names: NamesOfGuest | None, results: Path) -> None:
        self._names = names
        self._results = results
        self._closing = threading.Event()
        self._code: dict[str, Counter[BpfCode]] = {}
        self._objects: dict[str, Counter[MappedObject]] = {}
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

    def _watch(self) -> None:
        assert self._names is not None
        while not self._closing.wait(_EVERY_SECONDS):
            self._ask(self._names.bpf.now, self._code)
            self._ask(self._names.objects.now, self._objects)

    def _ask(self, now: Callable[[], Sequence[P]], seen: dict[str, Counter[P]]) -> None:
        case = self._case()
        if case is None:
            return
        pieces = now()
        # Of a case that has ended meanwhile the code may be another one's.
        if self._case() == case and sum(map(len, seen.values())) < _MOST_PIECES:
            of_case = seen.setdefault(case, Counter())
            of_case.update([each for each in pieces if each in of_case or len(of_case) < _MOST_OF_CASE])

    def _case(self) -> str | None:
        return (read_guest_file(self._results, "current", limit=200) or "").strip() or None


def _pieces(seen: "Counter[BpfCode] | Counter[MappedObject]") -> list[tuple[int, int, str]]:
    return [(each.start, each.end, each.name) for each, _ in seen.most_common()]


def read_bpf_code(folder: Path) -> Mapping[str, Sequence[BpfCode]]:
    """What was collected, by the name of the case, what was seen most often first; nothing where nothing was."""
    return _read(folder / BPF_CODE, BpfCode)


def read_user_objects(folder: Path) -> Mapping[str, Sequence[MappedObject]]:
    """The objects of the processes of each case, what was seen most often first; nothing where nothing was."""
    return _read(folder / USER_OBJECTS, MappedObject)


def _read(path: Path, kind: Callable[[int, int, str], P]) -> Mapping[str, Sequence[P]]:
    with suppress(OSError, ValueError):
        content = json.loads(path.read_text())
        return {case: tuple(kind(*piece) for piece in pieces) for case, pieces in content.items()}
    return {}
