"""Asks now and then, while a guest runs, for the names of the BPF code of the case that it is in."""

import json
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from cliffwatch_runner.guest.counting.bpf_names import BpfCode, BpfNames
from cliffwatch_runner.guest.files import read_guest_file

BPF_CODE = "bpf-code"
_EVERY_SECONDS = 1.0
_MOST_PIECES = 20_000


class NameWatch:
    """Collects names until it is closed, from nobody where `names` is None. `results` is the folder that the guest writes, where it says which case it is in."""

    def __init__(self, names: BpfNames | None, results: Path) -> None:
        self._names = names
        self._results = results
        self._closing = threading.Event()
        self._seen: dict[str, Counter[BpfCode]] = {}
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

    def _watch(self) -> None:
        while not self._closing.wait(_EVERY_SECONDS):
            case = self._case()
            if case is None:
                continue
            assert self._names is not None
            pieces = self._names.now()
            # Of a case that has ended meanwhile the code may be another one's.
            if self._case() == case and sum(map(len, self._seen.values())) < _MOST_PIECES:
                self._seen.setdefault(case, Counter()).update(pieces)

    def _case(self) -> str | None:
        return (read_guest_file(self._results, "current", limit=200) or "").strip() or None


def read_bpf_code(folder: Path) -> Mapping[str, Sequence[BpfCode]]:
    """What was collected, by the name of the case, what was seen most often first; nothing where nothing was."""
    with suppress(OSError, ValueError):
        content = json.loads((folder / BPF_CODE).read_text())
        return {case: tuple(BpfCode(*piece) for piece in pieces) for case, pieces in content.items()}
    return {}
