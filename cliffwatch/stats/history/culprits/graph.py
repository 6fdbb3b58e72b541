"""A history as a graph of commits: its lines, and where they meet."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Graph:
    """A history of commits."""

    parents: Mapping[str, tuple[str, ...]]
    """Parents of each commit, the first parent first. The order, newest first as in git, breaks ties.

    A commit without an entry has no parents here: the history begins there.
    """
    _ancestors: dict[str, frozenset[str]] = field(default_factory=dict, compare=False, repr=False)

    def parents_of(self, commit: str) -> tuple[str, ...]:
        return self.parents.get(commit, ())

    def ancestors(self, commit: str) -> frozenset[str]:
        """All commits in the history of `commit`, including itself."""
        known = self._ancestors.get(commit)
        if known is None:
            known = self._ancestors[commit] = frozenset(self._walked(commit))
        return known

    def _walked(self, commit: str) -> set[str]:
        reached, waiting = {commit}, [commit]
        while waiting:
            fresh = set(self.parents_of(waiting.pop())) - reached
            reached |= fresh
            waiting.extend(fresh)
        return reached

    def line(self, start: str, end: str) -> tuple[str, ...]:
        """The commits from `start` to `end`, inclusive, each with all of `start` in its history.

        Follows first parents; at a merge, the first parent that has `start`. Empty if `start` is not in the
        history of `end`.
        """
        if start not in self.ancestors(end):
            return ()
        line = [end]
        having = self._having(start, end)
        while line[-1] != start:
            line.append(next(parent for parent in self.parents_of(line[-1]) if parent in having))
        return tuple(reversed(line))

    def _having(self, start: str, end: str) -> set[str]:
        """Commits in the history of `end` that have `start` in theirs."""
        children: dict[str, list[str]] = {}
        for commit in self.ancestors(end):
            for parent in self.parents_of(commit):
                children.setdefault(parent, []).append(commit)
        having, waiting = {start}, [start]
        while waiting:
            fresh = set(children.get(waiting.pop(), ())) - having
            having |= fresh
            waiting.extend(fresh)
        return having

    def merge_bases(self, one: str, other: str) -> tuple[str, ...]:
        """The best common ancestors, as `git merge-base --all`.

        These are in the history of no other common ancestor.
        """
        common = self.ancestors(one) & self.ancestors(other)
        below = {parent for commit in common for parent in self.parents_of(commit)}
        best = common - below
        placed = [commit for commit in self.parents if commit in best]
        return (*placed, *sorted(best - set(placed)))

    def brought_in(self, commit: str, other: str) -> frozenset[str]:
        """Commits in the history of `commit` but not of `other`, as `git rev-list other..commit`."""
        return self.ancestors(commit) - self.ancestors(other)
