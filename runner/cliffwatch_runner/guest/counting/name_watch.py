"""Asks now and then, while a guest runs, for the names of the BPF code of the case that it is in, and for the code of its programs."""

import json
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from cliffwatch_runner.guest.counting.bpf_names import BpfCode, BpfNames
from cliffwatch_runner.guest.files import read_guest_file

BPF_CODE, BPF_BYTES = "bpf-code", "bpf-bytes"
_EVERY_SECONDS = 1.0
_MOST_PIECES = 20_000
_MOST_BYTES = 8 << 20
"""Of programs, of one start of a guest: two hundred of the longest that benchmarks have."""


class NameWatch:
    """Collects names and code until it is closed, from nobody where `names` is None. `results` is the folder that the guest writes, where it says which case it
    is in.
    """

    def __init__(self, names: BpfNames | None, results: Path) -> None:
        self._names = names
        self._results = results
        self._closing = threading.Event()
        self._seen: dict[str, Counter[BpfCode]] = {}
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
            self._names.close()

    def write(self, folder: Path) -> None:
        """Raises OSError where the host cannot keep them."""
        pieces = {
            case: [(each.start, each.end, each.name) for each, _ in seen.most_common()]
            for case, seen in self._seen.items()
        }
        (folder / BPF_CODE).write_text(json.dumps(pieces))
        (folder / BPF_BYTES).write_text(json.dumps(self._programs.as_json()))

    def _watch(self) -> None:
        while not self._closing.wait(_EVERY_SECONDS):
            case = self._case()
            if case is not None:
                self.look(case)

    def look(self, case: str) -> None:
        """Reads what the guest has now, as a part of this case: of no other, should it have ended."""
        assert self._names is not None
        pieces = self._names.now()
        programs = self._names.programs(self._programs.to_read(case, pieces))
        # Of a case that has ended meanwhile the code may be another one's.
        if self._case() == case and sum(map(len, self._seen.values())) < _MOST_PIECES:
            self._seen.setdefault(case, Counter()).update(pieces)
            self._programs.take(case, programs)

    def _case(self) -> str | None:
        return (read_guest_file(self._results, "current", limit=200) or "").strip() or None


class _Programs:
    """The code of programs by case. What a kernel attaches to a program it writes into it, so that code is read until two looks in turn read the
    same.
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


def read_bpf_code(folder: Path) -> Mapping[str, Sequence[BpfCode]]:
    """What was collected, by the name of the case, what was seen most often first; nothing where nothing was."""
    with suppress(OSError, ValueError):
        content = json.loads((folder / BPF_CODE).read_text())
        return {case: tuple(BpfCode(*piece) for piece in pieces) for case, pieces in content.items()}
    return {}


def read_bpf_bytes(folder: Path) -> Mapping[str, Mapping[BpfCode, bytes]]:
    """The code of programs that was collected, by the name of the case; nothing where nothing was."""
    with suppress(OSError, ValueError):
        content = json.loads((folder / BPF_BYTES).read_text())
        return {
            case: {BpfCode(start, end, name): bytes.fromhex(code) for start, end, name, code in programs}
            for case, programs in content.items()
        }
    return {}
