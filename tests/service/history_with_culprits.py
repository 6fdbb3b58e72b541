"""A real git history in which commits are planted that make cases slower or faster."""

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import toy


@dataclass
class PlantedHistory:
    """Commits of a repository; `planted` says of some by how much they slow a case, as fractions."""

    repository: Path
    planted: dict[str, tuple[int, float]] = field(default_factory=dict)
    count: int = 0

    def commit(self, subject: str, *, case: int | None = None, slower: float = 0.0) -> str:
        """A commit in a file of its own, so that merges never conflict."""
        self.count += 1
        made = toy.change(
            self.repository, f"kernel/bpf/made{self.count}.c", f"int made{self.count};\n", subject
        )
        if case is not None:
            self.planted[made] = (case, slower)
        return made

    def commits(self, number: int) -> list[str]:
        return [self.commit(f"bpf: Change {self.count}") for _ in range(number)]

    def branch(self, name: str, start: str) -> None:
        toy.git(self.repository, "checkout", "--quiet", "-b", name, start)

    def merge(self, name: str) -> str:
        """Merges a branch into master, with a merge commit."""
        toy.git(self.repository, "checkout", "--quiet", "master")
        toy.git(self.repository, "merge", "--quiet", "--no-ff", "--message", f"Merge {name}", name)
        return toy.git(self.repository, "rev-parse", "HEAD")

    def levels(self, commit: str) -> dict[int, float]:
        """By how much each case is slower at a commit than where nothing was planted."""
        level: dict[int, float] = {}
        for made in _history(self.repository, commit):
            if made in self.planted:
                case, slower = self.planted[made]
                level[case] = (1 + level.get(case, 0.0)) * (1 + slower) - 1
        return level


@cache
def _history(repository: Path, commit: str) -> tuple[str, ...]:
    return tuple(toy.git(repository, "rev-list", commit).split())
