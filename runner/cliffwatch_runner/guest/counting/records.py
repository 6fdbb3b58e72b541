"""Reads the output of the counting plugin: instructions by block, for each stretch of a guest's life.

counts.c describes the format. A guest that took over its emulator could write anything there. So reading
accepts any content, and its memory is bounded by the size of the file.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Addresses = NDArray[np.uint64]
Counts = NDArray[np.int64]

_BLOCKS, _COUNTS, _END = (ord(letter) for letter in "BCE")
STARTED, BOOTED = (0, 0), (0, 1)
"""Keys of two stretches: from the agent's start to the first case, and before. Cases are numbered from 1."""

BEFORE, WITHIN, AFTER = 0, 1, 2
_TOO_MUCH = {
    1: "some code was not counted: the guest has more blocks of code than there are counters",
    2: "the file of counts reached its size limit",
}
_MOST_INSTRUCTIONS = 1 << 62


@dataclass(frozen=True, slots=True)
class Stretch:
    """The code executed in a stretch of a guest's life. All arrays have shape (n,): one element per block."""

    addresses: Addresses
    """Start of the block."""

    instructions: Counts
    """Instructions executed in it."""

    times: Counts
    """Executions of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestCounts:
    """The counts of one start of a guest."""

    stretches: Mapping[tuple[int, int], Stretch]
    """By number of the case, and its part: `BEFORE`, `WITHIN` or `AFTER` its window."""

    marks: int | None
    """How often the agent made its mark; None if the emulator ended before it wrote the number."""

    notes: tuple[str, ...]
    """Sentences on what was not counted."""


def read_counts(path: Path) -> GuestCounts:
    """Reads the counts in a file, up to the first invalid record.

    Raises OSError if the file cannot be read.
    """
    words = np.fromfile(path, dtype="<u4")
    addresses, lengths = _ArrayBuilder(np.uint64), _ArrayBuilder(np.int64)
    entries: dict[tuple[int, int], list[NDArray[np.uint32]]] = {}
    marks, flags, at = None, 0, 0
    while (record := _record(words, at)) is not None:
        kind, head, body, at = record
        if kind == _BLOCKS and head[0] == addresses.count:
            addresses.add(body[:, 0].astype(np.uint64) | body[:, 1].astype(np.uint64) << np.uint64(32))
            lengths.add(body[:, 2].astype(np.int64))
        elif kind == _COUNTS:
            entries.setdefault((int(head[0]), int(head[1])), []).append(body)
        elif kind == _END:
            flags, marks = int(head[0]), int(head[1])
            break
    notes = [text for flag, text in _TOO_MUCH.items() if flags & flag]
    where, length = addresses.whole(), lengths.whole()
    return GuestCounts(
        stretches={key: _stretch(np.concatenate(bodies), where, length) for key, bodies in entries.items()},
        marks=marks,
        notes=tuple(notes),
    )


class _ArrayBuilder:
    """An array that is built from pieces."""

    def __init__(self, kind: type[np.generic]) -> None:
        self._pieces = [np.empty(0, dtype=kind)]
        self.count = 0

    def add(self, piece: NDArray[np.generic]) -> None:
        self._pieces.append(piece)
        self.count += len(piece)

    def whole(self) -> NDArray[np.generic]:
        return np.concatenate(self._pieces)


_Record = tuple[int, tuple[int, ...], NDArray[np.uint32], int]


def _record(words: NDArray[np.uint32], at: int) -> _Record | None:
    """Reads the record at a word: its kind, its head, its rows, and the position of the next record."""
    if at >= len(words):
        return None
    kind = int(words[at])
    heads, width = {_BLOCKS: (2, 3), _COUNTS: (3, 2), _END: (2, 0)}.get(kind, (0, 0))
    body = at + 1 + heads
    if heads == 0 or body > len(words):
        return None
    head = tuple(int(word) for word in words[at + 1 : body])
    if kind == _END:
        return kind, head, words[:0], body
    end = body + head[-1] * width
    return None if end > len(words) else (kind, head, words[body:end].reshape(-1, width), end)


def _stretch(
    entries: NDArray[np.uint32], addresses: NDArray[np.generic], lengths: NDArray[np.generic]
) -> Stretch:
    known = entries[entries[:, 0] < len(addresses)]
    slots = known[:, 0].astype(np.int64)
    executed = known[:, 1].astype(np.float64) * lengths[slots].astype(np.float64)
    believable = executed < _MOST_INSTRUCTIONS / max(1, len(executed))
    instructions = known[:, 1].astype(np.int64) * lengths[slots].astype(np.int64)
    return Stretch(
        addresses[slots][believable].astype(np.uint64),
        instructions[believable],
        known[:, 1].astype(np.int64)[believable],
    )
