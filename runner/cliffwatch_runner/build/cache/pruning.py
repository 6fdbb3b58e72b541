"""Chooses and removes cache entries: least recently used first, never while a process uses them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from cliffwatch_runner.build.cache.listing import LOCKS, CacheEntry, list_cache
from cliffwatch_runner.build.cache.uses import MARK, remove_unused
from cliffwatch_runner.sandbox.untrusted_files import remove_tree

KEEP_BYTES = 20 << 30
"""Size to which `cliffwatch cache prune` reduces a cache."""

KEEP_BUILT_BYTES = 5 << 30
"""Size to which the end of a run reduces kernels, benches, programs and guest roots.

That is about 400 kernels, or 5 guest roots.
"""

KEEP_MIRROR_BYTES = 10 << 30
"""Size to which the mirror of fetched trees may grow: six kernels, each packed separately."""

_LEFTOVER_AGE = timedelta(days=1)
"""Longer than any build, so that nobody still writes an older leftover."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneResult:
    """Result of a removal."""

    removed: tuple[CacheEntry, ...]
    refused: tuple[tuple[CacheEntry, str], ...]
    """Entries that could not be removed, with the reason."""

    @property
    def bytes(self) -> int:
        return sum(entry.bytes for entry in self.removed)


def choose_entries(
    entries: Sequence[CacheEntry], *, keep: int, unused_since: datetime | None, now: datetime
) -> tuple[CacheEntry, ...]:
    """Returns the entries to remove, in order of removal.

    These are the entries last used before `unused_since`, and more until `keep` bytes are left. Entries in
    use count towards `keep` and stay.
    """
    left = sum(entry.bytes for entry in entries)
    chosen: list[CacheEntry] = []
    for entry in sorted(entries, key=lambda each: (each.last_used, each.name)):
        if entry.in_use:
            continue
        if entry.kind == "leftover":
            goes = entry.last_used < now - _LEFTOVER_AGE
        else:
            goes = left > keep or (unused_since is not None and entry.last_used < unused_since)
        if goes:
            chosen.append(entry)
            left -= entry.bytes
    return tuple(chosen)


def remove(entries: Sequence[CacheEntry]) -> PruneResult:
    """Removes entries one by one. A failure does not stop the others."""
    removed: list[CacheEntry] = []
    refused: list[tuple[CacheEntry, str]] = []
    for entry in entries:
        try:
            if _remove_entry(entry):  # else a run has begun to use it meanwhile
                removed.append(entry)
        except OSError as error:
            refused.append((entry, f"{error.filename or entry.path}: {error.strerror}"))
    return PruneResult(removed=tuple(removed), refused=tuple(refused))


def _remove_entry(entry: CacheEntry) -> bool:
    if entry.kind == "failure":
        entry.path.unlink(missing_ok=True)
        return True
    if entry.kind == "leftover":
        remove_tree(entry.path)
        return True
    return remove_unused(entry.path, LOCKS.get(entry.kind, MARK))


def prune_built(cache: Path, keep: int, now: datetime) -> PruneResult:
    """Removes kernels, benches, programs and guest roots beyond `keep` bytes, at the end of a run.

    Entries that this or another run still uses stay.
    """
    listed = list_cache(cache, ("kernel", "bench", "program", "root"))
    return remove(choose_entries(listed.entries, keep=keep, unused_since=None, now=now))


def prune_mirror(cache: Path, keep: int = KEEP_MIRROR_BYTES) -> bool:
    """Removes the mirror at the start of a run if it exceeds `keep` bytes and no other run uses it.

    It mixes objects of strangers with others, and only their use tells them apart. All of it can be fetched
    again.
    """
    (mirror, *_) = list_cache(cache, ("mirror",)).entries or (None,)
    return mirror is not None and mirror.bytes > keep and _remove_entry(mirror)
