"""Revisions whose objects are in the mirror: reads their facts and files, and checks them out."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cliffwatch.catalogue.discovery import parse_release
from cliffwatch.catalogue.suite import Release
from cliffwatch.failure import Failure, host_failed, kernel_failed, wrong_usage
from cliffwatch_runner.source.git import git, write_git
from cliffwatch_runner.source.tree_size import refuse_large

_RELEASE_PART = re.compile(r"(?m)^(VERSION|PATCHLEVEL|SUBLEVEL)[^\S\n]*+=[^\S\n]*+(\d{1,6})[^\S\n]*+$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """One commit whose objects are in the mirror."""

    commit: str
    """Full hash of the commit."""
    tree: str
    """Hash of the commit's root tree."""
    subject: str
    author_date: str
    """ISO 8601."""
    release: str
    """Kernel version from the top Makefile, such as "6.12.117"."""
    author: str = ""
    commit_date: str = ""
    """ISO 8601."""
    parents: tuple[str, ...] = ()
    """Hashes of the parent commits, at most 20."""

    @property
    def short(self) -> str:
        return self.commit[:12]

    @property
    def major_minor(self) -> Release:
        return parse_release(self.release) or (0, 0)


def describe(mirror: Path, commit: str) -> Revision | Failure:
    """Reads the facts of a revision from the mirror."""
    shown = git(["show", "-s", "--format=%H%n%T%n%aI%n%an%n%cI%n%s", commit], git_dir=mirror)
    makefile = git(["cat-file", "blob", f"{commit}:Makefile"], git_dir=mirror)
    release = _release(makefile.output) if makefile.ok else None
    if not shown.ok or release is None:
        return wrong_usage(
            f"{commit[:12]} is no revision of a kernel tree",
            "name a revision whose top Makefile has VERSION and PATCHLEVEL",
        )
    full, tree, date, author, committed, subject = (shown.output.split("\n", 5) + [""] * 6)[:6]
    return Revision(
        commit=full,
        tree=tree,
        subject=subject.strip()[:200],
        author_date=date,
        release=release,
        author=author[:200],
        commit_date=committed,
        parents=_parents(mirror, full),
    )


def _parents(mirror: Path, commit: str) -> tuple[str, ...]:
    """Reads the parents from the commit object.

    `git show` reports none for a commit fetched without its history.
    """
    header = git(["cat-file", "commit", commit], git_dir=mirror).output.partition("\n\n")[0]
    return tuple(line.removeprefix("parent ") for line in header.splitlines() if line.startswith("parent "))[
        :20
    ]


def check_out(
    mirror: Path, revision: Revision, source: Path, index: Path, *, keep_free: str
) -> Failure | None:
    """Checks a revision out into `source`.

    Only files that differ are written, so make rebuilds only their dependents.

    `keep_free` is a name at the top of the tree that Cliffwatch uses; a tree that contains it is refused.
    """
    if object_name(mirror, revision, keep_free) is not None:
        return kernel_failed(
            f"the tree has a {keep_free} of its own, where the build's output goes", "give it another name"
        )
    large = refuse_large(mirror, revision.commit)
    if large is not None:
        return large
    source.mkdir(parents=True, exist_ok=True)
    env = {"GIT_INDEX_FILE": str(index), "GIT_WORK_TREE": str(source)}
    lock = index.with_name(f"{index.name}.writing")
    words = ["read-tree", "--reset", "-u", revision.commit]
    done = write_git(words, git_dir=mirror, lock=lock, cwd=source, env=env, readable=True)
    if done.ok:
        return None
    return host_failed(
        f"revision {revision.short} cannot be checked out",
        "look at the free space of the cache's disk",
        done.output[-2000:],
    )


def read_blob(mirror: Path, revision: Revision, path: str) -> str | None:
    """Returns the text of a file at a revision; None if there is no such file."""
    shown = git(["cat-file", "blob", f"{revision.commit}:{path}"], git_dir=mirror)
    return shown.output if shown.ok else None


def list_files(mirror: Path, revision: Revision, folder: str) -> tuple[str, ...]:
    """Returns the names in a folder at a revision; empty if there is no such folder."""
    listed = git(["ls-tree", "--name-only", "-z", f"{revision.commit}:{folder}"], git_dir=mirror)
    return tuple(name for name in listed.output.split("\0") if name) if listed.ok else ()


def mentions(mirror: Path, revision: Revision, word: str, folders: Sequence[str]) -> bool:
    """True if a text file in these folders contains the word, or if the search failed."""
    argv = ["grep", "--quiet", "-I", "--fixed-strings", "-e", word, revision.commit, "--", *folders]
    return git(argv, git_dir=mirror).status != 1


def object_name(mirror: Path, revision: Revision, path: str) -> str | None:
    """Returns the hash of a file or folder at a revision; None if it does not exist."""
    parsed = git(["rev-parse", "--verify", "--quiet", f"{revision.commit}:{path}"], git_dir=mirror)
    return parsed.output.strip() if parsed.ok else None


def commit_tree(mirror: Path, tree: str, subject: str, *, parent: str | None = None) -> str:
    """Creates a commit with fixed author and dates, so that equal content gives an equal commit.

    Returns its hash.
    """
    arguments = ["commit-tree", tree, "-m", subject, *(["-p", parent] if parent else [])]
    commit = git(arguments, git_dir=mirror).output.strip()
    git(["update-ref", f"refs/cliffwatch/{commit}", commit], git_dir=mirror)
    return commit


def _release(makefile: str) -> str | None:
    parts = {match[1]: match[2] for match in _RELEASE_PART.finditer(makefile)}
    if "VERSION" not in parts or "PATCHLEVEL" not in parts:
        return None
    return ".".join(parts[name] for name in ("VERSION", "PATCHLEVEL", "SUBLEVEL") if name in parts)
