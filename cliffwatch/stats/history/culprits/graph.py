"""A history as a graph of commits: its lines, and where they meet."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Graph:
    """The parents of each commit, the first one first. A parent that is not in `parents` itself has none
    here: the history begins there. The order of `parents`, newest first as git lists commits, decides
    where several answers are as good.
    """

    parents: Mapping[str, tuple[str, ...]]
    _ancestors: dict[str, frozenset[str]] = field(default_factory=dict, compare=False, repr=False)

    def parents_of(self, commit: str) -> tuple[str, ...]:
        return self.parents.get(commit, ())

    def ancestors(self, commit: str) -> frozenset[str]:
        """All commits that are in a commit's history, itself among them."""
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
        """The commits from `start` to `end`, both among them, each with all of `start` in its history: along
        first parents, and past a merge along the first parent that has `start`. Empty where `start` is not
        in the history of `end`.
        """
        if start not in self.ancestors(end):
            return ()
        line = [end]
        having = self._having(start, end)
        while line[-1] != start:
            line.append(next(parent for parent in self.parents_of(line[-1]) if parent in having))
        return tuple(reversed(line))

    def _having(self, start: str, end: str) -> set[str]:
        """The commits of the history of `end` that have `start` in theirs."""
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
        """The best common ancestors, as `git merge-base --all`: those that are in the history of no other
        common one.
        """
        common = self.ancestors(one) & self.ancestors(other)
        below = {parent for commit in common for parent in self.parents_of(commit)}
        best = common - below
        placed = [commit for commit in self.parents if commit in best]
        return (*placed, *sorted(best - set(placed)))

    def brought_in(self, commit: str, other: str) -> frozenset[str]:
        """What is in the history of `commit` and not in that of `other`: `git rev-list other..commit`."""
        return self.ancestors(commit) - self.ancestors(other)
