"""Reads the commits of a repository that is bisected: the range between two commits, and authors.

Checks nothing out.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cliffwatch.counting import count_noun
from cliffwatch.failure import Failure, host_failed, wrong_usage
from cliffwatch.stats.history.culprits.graph import Graph
from cliffwatch_runner.source.named_repository import read_repository

MOST_COMMITS = 60_000
"""Maximum number of commits to read: about four releases of Linux."""

_BESIDES = ("include/", "Documentation/", "tools/testing/", "MAINTAINERS")
"""Folders that changes of any subsystem also touch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """The commits between two ends."""

    graph: Graph
    """Reaches back to where the branches of the range begin."""

    good: str
    bad: str
    between: tuple[str, ...]
    """Commits that bad has and good has not, newest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitFacts:
    """A commit as a report shows it."""

    commit: str
    author: str
    """`Name <address>`."""

    date: str
    """Author date, ISO 8601."""

    subject: str
    subsystem: str
    """The folder, two levels deep, with most of the changed files."""

    paths: tuple[str, ...]
    """Changed files, at most 100."""


def read_history(repository: Path, good: str, bad: str) -> History | Failure:
    """Reads the commits between two revisions. Fails if good is not an ancestor of bad."""
    ends = _ends(repository, good, bad)
    if isinstance(ends, Failure):
        return ends
    first, last = ends
    between = _list_parents(repository, [last, f"^{first}"])
    if isinstance(between, Failure):
        return between
    edge = {parent for parents in between.values() for parent in parents} - between.keys()
    whole = _list_parents(repository, [last, *_below(repository, sorted(edge | {first}))])
    if isinstance(whole, Failure):
        return whole
    return History(graph=Graph(whole), good=first, bad=last, between=tuple(between))


def _ends(repository: Path, good: str, bad: str) -> tuple[str, str] | Failure:
    """Resolves both names to commits. Fails if they cannot be bisected."""
    first, last = _commit(repository, good), _commit(repository, bad)
    if isinstance(first, Failure):
        return first
    if isinstance(last, Failure):
        return last
    if first == last:
        return wrong_usage(f"{good} and {bad} are the same commit", "name a good commit before the bad one")
    if not read_repository(repository, ["merge-base", "--is-ancestor", first, last]).ok:
        return wrong_usage(f"{good} is not in the history of {bad}", _other_end(repository, first, last, bad))
    return first, last


def _commit(repository: Path, name: str) -> str | Failure:
    asked = read_repository(
        repository, ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"]
    )
    if asked.ok:
        return asked.output.strip()
    return wrong_usage(
        f"{repository} has no revision '{name}'", "fetch it into that repository, or check the spelling"
    )


def _other_end(repository: Path, good: str, bad: str, name: str) -> str:
    base = read_repository(repository, ["merge-base", good, bad])
    if not base.ok:
        return "name a good commit before it; in a shallow clone, fetch the rest: git fetch --unshallow"
    return f"try their merge base, --good {base.output.strip()[:12]}, or a commit that was merged into {name}"


def _list_parents(repository: Path, revisions: Sequence[str]) -> dict[str, tuple[str, ...]] | Failure:
    """Returns the parents of each commit, newest first."""
    count = read_repository(repository, ["rev-list", "--count", *revisions, "--"])
    if count.ok and int(count.output) > MOST_COMMITS:
        return wrong_usage(
            f"the range has {count_noun(int(count.output), 'commit')}; the limit is {MOST_COMMITS:,}",
            "name a good commit closer to the bad one, such as the last release",
        )
    listed = read_repository(repository, ["rev-list", "--parents", "--topo-order", *revisions, "--"])
    if not listed.ok:
        return host_failed(
            f"the history of {repository} cannot be read",
            "see `git fsck`; in a partial clone, fetch the commits first",
            listed.output[-2000:],
        )
    rows = [line.split() for line in listed.output.splitlines()]
    return {row[0]: tuple(row[1:]) for row in rows}


def _below(repository: Path, edge: Sequence[str]) -> list[str]:
    """Returns an argument that excludes all history before the common ancestor of the range's branches."""
    base = read_repository(repository, ["merge-base", "--octopus", *edge])
    return [f"{base.output.strip()}^@"] if base.ok and base.output.strip() else []


def describe_commit(repository: Path, commit: str) -> CommitFacts:
    """Returns the author of a commit and the files that it changed.

    For a merge, only the merge's own changes count.
    """
    shown = read_repository(
        repository, ["show", "-s", "--no-show-signature", "--format=%an <%ae>%n%aI%n%s", commit]
    ).output
    author, date, subject = (shown.split("\n", 2) + [""] * 3)[:3]
    changed = read_repository(
        repository,
        ["diff-tree", "--root", "-r", "-z", "--cc", "--name-only", "--no-commit-id", "--no-ext-diff", commit],
    )
    paths = tuple(path for path in changed.output.split("\0") if path) if changed.ok else ()
    return CommitFacts(
        commit=commit,
        author=author.strip()[:200],
        date=date.strip()[:64],
        subject=subject.strip()[:200],
        subsystem=subsystem(paths),
        paths=paths[:100],
    )


def subsystem(paths: Sequence[str]) -> str:
    """Returns the folder, two levels deep, with most of the files; empty if there are no files.

    Headers, documentation and tests count only if nothing else changed.
    """
    own = [path for path in paths if not path.startswith(_BESIDES)] or list(paths)
    folders = Counter("/".join(path.split("/")[:-1][:2]) or path for path in own)
    return min(folders, key=lambda folder: (-folders[folder], folder), default="")
