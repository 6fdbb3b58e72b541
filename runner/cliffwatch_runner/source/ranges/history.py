"""Finds where the histories of two commits diverged, and how many commits each has alone."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from cliffwatch.failure import Failure, host_failed
from cliffwatch_runner.source.access import plan_fetch
from cliffwatch_runner.source.git import GitReader, git
from cliffwatch_runner.source.named_repository import repository_reader
from cliffwatch_runner.source.tree import Tree

_DEPTHS = (100, 2_000, 50_000)
"""Fetch depths for a URL, tried one after the other until the merge base is certain. Files are not fetched.
"""

_UNCERTAIN = host_failed("the merge base lies deeper than was fetched", "clone the tree and name the clone")


@dataclass(frozen=True, slots=True, kw_only=True)
class Divergence:
    """Where two histories diverged."""

    merge_base: str | None
    """Newest common commit; None if there is none."""
    base_alone: int = 0
    """Number of commits that only base has."""
    head_alone: int = 0
    """Number of commits that only head has."""


def find_divergence(tree: Tree, base: str, head: str, *, thorough: bool) -> Divergence | Failure:
    """Finds where two commits of a tree diverged.

    For a URL it fetches as much history as it needs. If not `thorough`, it tries only the smallest depth.
    """
    if tree.kind == "repository":
        with repository_reader(Path(tree.location)) as read:
            return _read_divergence(read, base, head)
    with _fetched_history(tree, base, head, _DEPTHS if thorough else _DEPTHS[:1]) as folder:
        return (
            folder
            if isinstance(folder, Failure)
            else _read_divergence(partial(git, git_dir=folder), base, head)
        )


def _read_divergence(read: GitReader, base: str, head: str) -> Divergence:
    """`read` runs git on the repository of both commits."""
    found = read(["merge-base", base, head])
    if not found.ok or not found.output.strip():
        return Divergence(merge_base=None)
    counted = read(["rev-list", "--left-right", "--count", f"{base}...{head}"])
    base_alone, head_alone = map(int, counted.output.split())
    return Divergence(merge_base=found.output.split()[0], base_alone=base_alone, head_alone=head_alone)


@contextmanager
def _fetched_history(tree: Tree, base: str, head: str, depths: Sequence[int]) -> Iterator[Path | Failure]:
    """Yields a temporary repository with enough history of a URL to find the merge base of two commits.

    Yields a Failure if no depth reaches it.
    """
    with tempfile.TemporaryDirectory(prefix="cliffwatch-history-") as temporary:
        folder = Path(temporary)
        git(["init", "--quiet", "--bare"], git_dir=folder)
        for depth in depths:
            failure = _deepen(tree, folder, depth, base, head)
            if failure is not None:
                yield failure
                return
            if _is_certain(folder, base, head):
                yield folder
                return
        yield _UNCERTAIN


def _deepen(tree: Tree, folder: Path, depth: int, *commits: str) -> Failure | None:
    reach = plan_fetch(tree.location, tree.access)
    if isinstance(reach, Failure):
        return reach
    words = ["fetch", "--quiet", "--no-tags", f"--depth={depth}", "--filter=tree:0", "--", reach.url]
    refs = [f"{commit}:refs/ends/{commit}" for commit in commits]
    fetched = git([*words, *dict.fromkeys(refs)], git_dir=folder, fetching=reach)
    if fetched.ok:
        return None
    return host_failed(
        f"the history of {tree.location} cannot be fetched, so its merge base is unknown",
        "name base by a tag or a whole hash, which needs no history, or clone the tree and name the clone",
        fetched.output[-2000:],
    )


def _is_certain(folder: Path, base: str, head: str) -> bool:
    """True if deeper history cannot reveal a newer merge base.

    That is so if no path from either end to the merge base was cut off.
    """
    shallow = folder / "shallow"
    cut = set(shallow.read_text().split()) if shallow.exists() else set()
    found = git(["merge-base", base, head], git_dir=folder)
    if not cut:
        return True
    if not found.ok or not found.output.strip():
        return False
    since = git(["rev-list", base, head, f"^{found.output.split()[0]}"], git_dir=folder)
    return cut.isdisjoint(since.output.split())
