"""Checks how large a commit would be on disk before its checkout.

A few kilobytes of git objects can name a million files.
"""

from dataclasses import dataclass, field
from pathlib import Path

from cliffwatch.counting import count_noun, size_text
from cliffwatch.failure import Failure, kernel_failed
from cliffwatch_runner import clock
from cliffwatch_runner.source.git import git

_SECONDS = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeLimits:
    """Largest tree that is checked out.

    Linux has 95,000 entries, 1.6 GB, 13 levels and paths of up to 120 bytes.
    """

    entries: int = 300_000
    """Files and folders."""
    total_bytes: int = 4 << 30
    levels: int = 64
    path_bytes: int = 1024
    """Length of one path."""


LIMITS = TreeLimits()


def refuse_large(mirror: Path, commit: str, limits: TreeLimits = LIMITS) -> Failure | None:
    """Walks the tree of a commit and stops at the first exceeded limit. Missing objects are a failure too."""
    walk = _Walk(limits)
    words = ["ls-tree", "-r", "-t", "-l", "-z", "--full-tree", commit]
    until = clock.monotonic() + _SECONDS
    ended = git(
        words,
        git_dir=mirror,
        on_output=walk.take,
        should_stop=lambda: walk.passed is not None or clock.monotonic() > until,
    )
    why = walk.passed or ("more than can be looked through" if ended.stopped else None)
    if why is not None:
        return kernel_failed(
            f"revision {commit[:12]} is not checked out: it has {why}", "name a revision of an ordinary tree"
        )
    if ended.ok:
        return None
    return kernel_failed(
        f"the files of revision {commit[:12]} cannot be listed",
        "look at the repository with `git fsck`",
        ended.output[-2000:],
    )


@dataclass(slots=True)
class _Walk:
    """Counts the entries that `git ls-tree -l -z` prints, in pieces of any length."""

    limits: TreeLimits
    passed: str | None = None
    """Description of the exceeded limit; None while all limits are met."""
    entries: int = 0
    bytes: int = 0
    """Total size of the files so far."""
    _rest: str = field(default="")
    """Incomplete last entry of the previous piece."""

    def take(self, piece: str) -> None:
        *whole, self._rest = (self._rest + piece).split("\0")
        for line in whole:
            if self.passed is None:
                self._count(line)
        if len(self._rest) > self.limits.path_bytes + 200:
            self.passed = self.passed or self._long_path()

    def _count(self, line: str) -> None:
        about, _, path = line.partition("\t")
        size = about.rpartition(" ")[2]
        self.entries += 1
        self.bytes += int(size) if size.isascii() and size.isdecimal() else 0
        limits = self.limits
        if self.entries > limits.entries:
            self.passed = f"more than {count_noun(limits.entries, 'file')} and folders"
        elif self.bytes > limits.total_bytes:
            self.passed = f"more than {size_text(limits.total_bytes)} of files"
        elif path.count("/") >= limits.levels:
            self.passed = f"folders more than {limits.levels} levels deep"
        elif len(path.encode(errors="replace")) > limits.path_bytes:
            self.passed = self._long_path()

    def _long_path(self) -> str:
        return f"paths of more than {self.limits.path_bytes} bytes"
