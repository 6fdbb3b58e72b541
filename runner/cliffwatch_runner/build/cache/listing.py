"""Lists the cache: kinds of entries, their sizes, and when they were last used."""

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, get_args

from cliffwatch_runner.build.cache.uses import MARK, is_used, last_used
from cliffwatch_runner.sandbox.untrusted_files import disk_bytes

EntryKind = Literal[
    "kernel", "bench", "program", "root", "worktree", "ccache", "mirror", "failure", "leftover"
]
KINDS: tuple[EntryKind, ...] = get_args(EntryKind)

_FOLDERS: Mapping[EntryKind, str] = {
    "kernel": "kernels",
    "bench": "benches",
    "program": "programs",
    "root": "guest-roots",
}
LOCKS: Mapping[EntryKind, str] = {
    "kernel": MARK,
    "bench": MARK,
    "program": MARK,
    "root": MARK,
    "worktree": "lock",
    "ccache": MARK,
    "mirror": MARK,
}
"""The file that users of an entry lock, by kind. Entries of other kinds have no users."""

_PARTS: Mapping[str, str] = {"source": "source", "output": "output"}


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheEntry:
    """One thing in the cache that can be removed."""

    kind: EntryKind
    """`leftover` is a half-stored result of a killed build."""
    name: str
    path: Path
    bytes: int
    """Disk usage."""
    parts: Mapping[str, int]
    """Sizes of parts within `bytes`, by name."""
    last_used: datetime
    in_use: bool
    """True if a running process uses it."""
    about: str
    """Description for people; may be empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """The contents of a cache."""

    cache: Path
    entries: tuple[CacheEntry, ...]
    free_bytes: int
    """Free space of its file system."""

    @property
    def bytes(self) -> int:
        return sum(entry.bytes for entry in self.entries)

    def of(self, kind: EntryKind) -> tuple[CacheEntry, ...]:
        return tuple(entry for entry in self.entries if entry.kind == kind)

    def document(self) -> dict[str, object]:
        entries = [
            {
                **asdict(entry),
                "path": str(entry.path),
                "last_used": entry.last_used.isoformat(timespec="seconds"),
            }
            for entry in self.entries
        ]
        return {
            "cache": str(self.cache),
            "bytes": self.bytes,
            "free_bytes": self.free_bytes,
            "entries": entries,
        }


def list_cache(cache: Path, kinds: Sequence[EntryKind] = KINDS) -> Listing:
    """Lists an existing cache. Entries that others remove meanwhile are skipped."""
    entries: list[CacheEntry] = []
    for kind in kinds:
        for path in _paths(cache, kind):
            try:
                entries.append(_entry(kind, path))
            except FileNotFoundError:
                continue
    return Listing(cache=cache, entries=tuple(entries), free_bytes=shutil.disk_usage(cache).free)


def _paths(cache: Path, kind: EntryKind) -> Iterator[Path]:
    match kind:
        case "kernel" | "bench" | "program" | "root":
            yield from _children(cache / _FOLDERS[kind], hidden=False)
        case "worktree":
            yield from _children(cache / "worktrees", hidden=False)
        case "ccache":
            yield from _children(cache / "ccaches", hidden=False)
        case "mirror":
            if (cache / "mirror.git").is_dir():
                yield cache / "mirror.git"
        case "failure":
            yield from _children(cache / "failures", hidden=False)
        case "leftover":
            if (cache / "ccache").is_dir():  # where it lay when builds of every trust shared one
                yield cache / "ccache"
            for folder in (cache, cache / "worktrees", *(cache / name for name in _FOLDERS.values())):
                yield from _children(folder, hidden=True)


def _children(folder: Path, *, hidden: bool) -> list[Path]:
    if not folder.is_dir():
        return []
    return sorted(
        path for path in folder.iterdir() if path.name.startswith(".") == hidden and not path.is_symlink()
    )


def _entry(kind: EntryKind, path: Path) -> CacheEntry:
    parts = {name: disk_bytes(path / part) for name, part in _PARTS.items()} if kind == "worktree" else {}
    return CacheEntry(
        kind=kind,
        name=path.name.removesuffix(".log") if kind == "failure" else path.name,
        path=path,
        bytes=disk_bytes(path),
        parts=parts,
        last_used=last_used(path) if path.is_dir() else datetime.fromtimestamp(path.lstat().st_mtime, UTC),
        in_use=kind in LOCKS and is_used(path, LOCKS[kind]),
        about=_about(path / f"{kind}.json") if kind in _FOLDERS else "",
    )


def _about(record: Path) -> str:
    """Returns the kernel release that an entry was built from, or the suite of its program.

    Returns an empty string if an older Cliffwatch did not record it.
    """
    try:
        known = json.loads(record.read_text())
        named = {name: known.get(key) for name, key in (("linux", "release"), ("suite", "suite"))}
    except (OSError, ValueError, AttributeError):
        return ""
    return next((f"{name} {value}" for name, value in named.items() if isinstance(value, str)), "")
