"""Which entries of the cache go, and their going: least recently used first, never what a running process
uses.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from cliffwatch_runner.build.cache.listing import LOCKS, CacheEntry, list_cache
from cliffwatch_runner.build.cache.uses import MARK, remove_unused
from cliffwatch_runner.sandbox.untrusted_files import remove_tree

KEEP_BYTES = 20 << 30
"""What `cliffwatch cache prune` leaves of a cache."""

KEEP_BUILT_BYTES = 5 << 30
"""What the end of a run leaves of kernels, benches, programs and guest roots: some four hundred kernels, or
five roots.
"""

KEEP_MIRROR_BYTES = 10 << 30
"""To what the mirror of fetched trees may grow: six kernels, each packed on its own."""

_LEFTOVER_AGE = timedelta(days=1)
"""No build takes so long: what it had begun to store is nobody's by then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned:
    """What was removed; what could not be removed, with the reason."""

    removed: tuple[CacheEntry, ...]
    refused: tuple[tuple[CacheEntry, str], ...]

    @property
    def bytes(self) -> int:
        return sum(entry.bytes for entry in self.removed)


def to_remove(
    entries: Sequence[CacheEntry], *, keep: int, unused_since: datetime | None, now: datetime
) -> tuple[CacheEntry, ...]:
    """Entries in the order in which they go: those last used before `unused_since`, and others until `keep`
    bytes are left.

    Entries in use count towards `keep` and stay.
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


def remove(entries: Sequence[CacheEntry]) -> Pruned:
    """Removes entries one after the other; one that cannot be removed keeps no other one back."""
    removed: list[CacheEntry] = []
    refused: list[tuple[CacheEntry, str]] = []
    for entry in entries:
        try:
            if _removed(entry):  # else a run has begun to use it meanwhile
                removed.append(entry)
        except OSError as error:
            refused.append((entry, f"{error.filename or entry.path}: {error.strerror}"))
    return Pruned(removed=tuple(removed), refused=tuple(refused))


def _removed(entry: CacheEntry) -> bool:
    if entry.kind == "failure":
        entry.path.unlink(missing_ok=True)
        return True
    if entry.kind == "leftover":
        remove_tree(entry.path)
        return True
    return remove_unused(entry.path, LOCKS.get(entry.kind, MARK))


def prune_built(cache: Path, keep: int, now: datetime) -> Pruned:
    """What the end of a run does: kernels, benches, programs and guest roots beyond `keep` bytes go. Those of
    runs under way, its own too, stay.
    """
    listed = list_cache(cache, ("kernel", "bench", "program", "root"))
    return remove(to_remove(listed.entries, keep=keep, unused_since=None, now=now))


def prune_mirror(cache: Path, keep: int = KEEP_MIRROR_BYTES) -> bool:
    """What the begin of a run does: a mirror of more than `keep` bytes goes, unless another run uses it.

    Strangers' objects lie in it among the others, and nothing but their use tells them apart; all of it
    can be fetched again.
    """
    (mirror, *_) = list_cache(cache, ("mirror",)).entries or (None,)
    return mirror is not None and mirror.bytes > keep and _removed(mirror)
