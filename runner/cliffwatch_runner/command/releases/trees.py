"""Puts the named releases into one repository, so that one run can have each as an arm."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cliffwatch.failure import Failure, wrong_usage
from cliffwatch.formats.releases_record import ReleaseRecord
from cliffwatch.trees.addresses import without_credentials
from cliffwatch_runner.source.git import git, write_git
from cliffwatch_runner.source.tree import Tree, is_url, open_mirror, open_tree

REPOSITORY = "trees.git"
FEWEST, MOST = 2, 15
_VERSION = re.compile(r"(?m)^(VERSION|PATCHLEVEL|SUBLEVEL|EXTRAVERSION)[ \t]*=[ \t]*(\S*)[ \t]*$")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """A release as its tree has it."""

    spec: str
    commit: str
    numbers: tuple[int, ...]
    version: str


def open_releases(specs: Sequence[str], cache: Path, folder: Path) -> tuple[ReleaseRecord, ...] | Failure:
    """Imports the trees into the cache, and names their commits in a repository below `folder`.

    A spec is a tree of `cliffwatch run`; `TREE@REV` is a revision of it, else HEAD. Returned in order of
    version.
    """
    if not FEWEST <= len(specs) <= MOST:
        return wrong_usage(
            f"an audit takes {FEWEST} to {MOST} releases, not {len(specs)}",
            "name each with --tree: a git repository, a source folder or an archive",
        )
    found: list[_Found] = []
    for spec in specs:
        each = _find(spec, cache)
        if isinstance(each, Failure):
            return each
        found.append(each)
    twice = [commit for commit, count in Counter(each.commit for each in found).items() if count > 1]
    if twice:
        same = " and ".join(without_credentials(each.spec) for each in found if each.commit == twice[0])
        return wrong_usage(f"{same} are the same revision", "name different releases")
    releases = _named(sorted(found, key=lambda each: each.numbers))
    _write_repository(releases, cache, folder)
    return releases


def _find(spec: str, cache: Path) -> _Found | Failure:
    path, at, rev = spec.rpartition("@")
    whole = not at or not path or Path(spec).expanduser().exists() or (is_url(spec) and ":" in rev)
    tree = open_tree(spec if whole else path, cache, "own")
    if isinstance(tree, Failure):
        return tree
    return _read(spec, tree, "HEAD" if whole else rev)


def _read(spec: str, tree: Tree, rev: str) -> _Found | Failure:
    revision = tree.resolve(rev)
    if isinstance(revision, Failure):
        return revision
    makefile = git(["cat-file", "blob", f"{revision.commit}:Makefile"], git_dir=tree.mirror).output
    said = dict(_VERSION.findall(makefile[:100_000]))
    numbers = [said.get(name, "") for name in ("VERSION", "PATCHLEVEL", "SUBLEVEL")]
    if not all(number.isdecimal() and len(number) < 6 for number in numbers):
        return wrong_usage(
            f"the Makefile of {without_credentials(spec)} names no version",
            "name the top folder of a kernel source, or an archive of one",
        )
    return _Found(
        spec=spec,
        commit=revision.commit,
        numbers=tuple(map(int, numbers)),
        version=".".join(numbers) + said.get("EXTRAVERSION", "")[:40],
    )


def _named(found: Sequence[_Found]) -> tuple[ReleaseRecord, ...]:
    """Names releases by the shortest part of the version that tells them apart, else by commit too."""
    short = Counter(each.numbers[:2] for each in found)
    whole = Counter(each.version for each in found)
    return tuple(
        ReleaseRecord(
            name=".".join(map(str, each.numbers[:2]))
            if short[each.numbers[:2]] == 1
            else each.version
            if whole[each.version] == 1
            else f"{each.version}-{each.commit[:9]}",
            version=each.version,
            tree=without_credentials(each.spec),
            commit=each.commit,
        )
        for each in found
    )


def _write_repository(releases: Sequence[ReleaseRecord], cache: Path, folder: Path) -> None:
    """The repository borrows the objects of the cache's mirror, where the trees were imported."""
    repository = open_mirror(folder / REPOSITORY)
    borrowed = repository / "objects" / "info" / "alternates"
    borrowed.parent.mkdir(parents=True, exist_ok=True)
    borrowed.write_text(f"{(cache / 'mirror.git' / 'objects').resolve()}\n")
    for each in releases:
        write_git(["update-ref", f"refs/heads/{each.name}", each.commit], git_dir=repository)
