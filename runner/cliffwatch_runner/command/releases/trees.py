"""Puts the named releases into one repository, so that one run can have each as an arm."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cliffwatch.failure import Failure, host_failed, wrong_usage
from cliffwatch.formats.releases_record import ReleaseRecord
from cliffwatch.trees.addresses import without_credentials
from cliffwatch_runner.source.git import git, write_git
from cliffwatch_runner.source.tree import Tree, is_url, open_mirror, open_tree

REPOSITORY = "trees.git"
FEWEST, MOST = 2, 15
_DOTS, _NOT_OF_A_NAME = re.compile(r"\.{2,}"), re.compile(r"[^A-Za-z0-9._-]")
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
    return _write_repository(releases, cache, folder) or releases


def reopen_releases(
    releases: tuple[ReleaseRecord, ...], cache: Path, folder: Path
) -> tuple[ReleaseRecord, ...] | Failure:
    """Returns the recorded releases once the repository below `folder` has their commits.

    Fetches commits that the cache has lost from their trees. Names are not resolved again: a branch may have
    moved.
    """
    repository = folder / REPOSITORY
    missing = [each for each in releases if not _has(repository, each)]
    for release in missing:
        fetched = _fetch_again(release, cache)
        if fetched is not None:
            return fetched
    return (_write_repository(releases, cache, folder) if missing else None) or releases


def _has(repository: Path, release: ReleaseRecord) -> bool:
    named = git(["rev-parse", "--verify", "--quiet", f"refs/heads/{release.name}"], git_dir=repository)
    whole = git(["cat-file", "-e", f"{release.commit}^{{tree}}"], git_dir=repository)
    return named.output.strip() == release.commit and whole.ok


def _fetch_again(release: ReleaseRecord, cache: Path) -> Failure | None:
    path, _ = _split(release.tree)
    tree = open_tree(path, cache, "own")
    revision = tree if isinstance(tree, Failure) else tree.resolve(release.commit)
    if not isinstance(revision, Failure):
        return None
    return wrong_usage(
        f"the cache has lost revision {release.commit[:12]} of {release.name}: {revision.message}",
        "name all trees of the audit again with --tree",
    )


def _split(spec: str) -> tuple[str, str]:
    """The tree and the revision of `TREE@REV`; HEAD if it names none."""
    path, at, rev = spec.rpartition("@")
    whole = not at or not path or Path(spec).expanduser().exists() or (is_url(spec) and ":" in rev)
    return (spec, "HEAD") if whole else (path, rev)


def _find(spec: str, cache: Path) -> _Found | Failure:
    path, rev = _split(spec)
    tree = open_tree(path, cache, "own")
    return tree if isinstance(tree, Failure) else _read(spec, tree, rev)


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
        version=_name_of(".".join(numbers) + said.get("EXTRAVERSION", "")),
    )


def _name_of(version: str) -> str:
    """A version as the name of an arm and of a branch: EXTRAVERSION may be anything."""
    name = _DOTS.sub(".", _NOT_OF_A_NAME.sub("-", version[:60])).rstrip(".-")
    return f"{name.removesuffix('.lock')}-lock" if name.endswith(".lock") else name


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


def _write_repository(releases: Sequence[ReleaseRecord], cache: Path, folder: Path) -> Failure | None:
    """The repository borrows the objects of the cache's mirror, where the trees were imported."""
    repository = open_mirror(folder / REPOSITORY)
    borrowed = repository / "objects" / "info" / "alternates"
    borrowed.parent.mkdir(parents=True, exist_ok=True)
    borrowed.write_text(f"{(cache / 'mirror.git' / 'objects').resolve()}\n")
    for each in releases:
        written = write_git(["update-ref", f"refs/heads/{each.name}", each.commit], git_dir=repository)
        if not written.ok:
            return host_failed(
                f"{repository} does not take the revision of {each.name}",
                f"remove {repository}, then run the same command again",
                written.output[-2000:],
            )
    return None
