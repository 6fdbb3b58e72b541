"""Trees: resolves the names of trees and revisions to revisions whose objects are in one bare mirror."""

import hashlib
import os
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from cliffwatch.failure import Failure, host_failed, wrong_usage
from cliffwatch_runner import process
from cliffwatch_runner.source.access import FetchPlan, TreeAccess, plan_fetch, plan_local_fetch
from cliffwatch_runner.source.archive_import import import_archive
from cliffwatch_runner.source.folder_import import import_folder
from cliffwatch_runner.source.git import git, write_git
from cliffwatch_runner.source.named_repository import (
    NamedRepository,
    find_repository,
    read_repository,
    repository_view,
)
from cliffwatch_runner.source.revision import Revision, commit_tree, describe
from cliffwatch_runner.source.tree_size import refuse_large

_URL = re.compile(r"^(?:https?|ssh|git|file)://|^[\w.-]+@[\w.-]+:")
_LOCAL = "file://"
_NAME_A_TREE = "name a git repository, a URL, a source folder or a .tar archive"
_ARCHIVE = re.compile(r"\.tar(?:\.(?:xz|gz|zst|bz2))?$")
_HASH = re.compile(r"[0-9a-f]{40}")
_SUBJECT = re.compile(r"(?m)^Subject:[^\S\n]*+(?:\[[^\]\n]*+\][^\S\n]*+)*+(.+)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """A kernel tree."""

    spec: str
    kind: str
    """`repository`, `url` or `imported`."""
    location: str
    """Path, URL or imported commit, by `kind`."""
    mirror: Path
    access: TreeAccess

    def resolve(self, name: str) -> Revision | Failure:
        """Returns the revision that a name means in this tree, fetched into the mirror."""
        wrong = _explain_unknown_name(name)
        if wrong is not None:
            return wrong
        commit = self._commit(name)
        return commit if isinstance(commit, Failure) else describe(self.mirror, commit)

    def _commit(self, name: str) -> str | Failure:
        if self.kind == "imported":
            if name in ("HEAD", self.location) or (len(name) >= 7 and self.location.startswith(name)):
                return self.location
            return _unknown(name, self.spec, "an imported folder or archive has one revision: HEAD")
        if self.kind == "url":
            return self._fetch_named(name)
        repository = Path(self.location)
        words = ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"]
        parsed = read_repository(repository, words)
        if not parsed.ok:
            return _unknown(name, self.spec, _suggest_names(repository, name))
        return self.fetch(parsed.output.strip().splitlines()[-1])

    def _fetch_named(self, name: str) -> str | Failure:
        if _HASH.fullmatch(name):
            return self.fetch(name)
        reach = plan_fetch(self.location, self.access)
        if isinstance(reach, Failure):
            return reach
        listed = git(["ls-remote", "--", reach.url, name, f"{name}^{{}}"], fetching=reach)
        if not listed.ok:
            return host_failed(
                f"{self.location} cannot be reached",
                "check the address and the network, or clone it and name the clone",
                listed.output[-2000:],
            )
        rows = [line.split("\t") for line in listed.output.splitlines() if "\t" in line]
        if not rows:
            return _unknown(
                name,
                self.spec,
                "a URL can be asked for branches, tags and whole hashes; for others name a clone",
            )
        peeled = [row[0] for row in rows if row[1].endswith("^{}")]
        return self.fetch(peeled[0] if peeled else rows[0][0])

    def fetch(self, commit: str) -> str | Failure:
        """Fetches a commit, given by its full hash, into the mirror: its files, but not its history."""
        if git(["cat-file", "-e", f"{commit}^{{tree}}"], git_dir=self.mirror).ok and _is_complete(
            self.mirror, commit
        ):
            return commit
        fetched = self._fetched(commit)
        if isinstance(fetched, Failure):
            return fetched
        if fetched.ok:
            large = refuse_large(self.mirror, commit)
            if large is not None:  # without a ref it counts as not fetched
                write_git(["update-ref", "-d", f"refs/cliffwatch/{commit}"], git_dir=self.mirror)
            return large or commit
        if "not our ref" in fetched.output:
            return _unknown(
                commit,
                self.spec,
                "it may have been replaced by a forced push: push it again, or name another",
            )
        return _not_fetched(commit, self, fetched.output[-2000:])

    def _fetched(self, commit: str) -> process.Finished | Failure:
        if self.kind != "repository":
            reach = plan_fetch(self.location, self.access)
            return reach if isinstance(reach, Failure) else _fetch_from(reach, commit, self.mirror)
        repository = find_repository(Path(self.location))
        if repository is None:
            return _no_tree(self.spec, Path(self.location))
        with repository_view(repository) as view:
            return _fetch_from(plan_local_fetch(view), commit, self.mirror)

    def with_patch(self, base: Revision, patch: Path) -> Revision | Failure:
        """Returns `base` with a patch applied. Equal patches give equal commits."""
        try:
            text = patch.read_text(errors="replace")
        except OSError as error:
            return wrong_usage(f"the patch cannot be read: {error}", "check the path")
        with tempfile.TemporaryDirectory(prefix="cliffwatch-index-") as folder:
            env = {"GIT_INDEX_FILE": f"{folder}/index"}
            read = git(["read-tree", base.commit], git_dir=self.mirror, env=env)
            applied = git(
                ["apply", "--cached", "--whitespace=nowarn", str(patch.resolve())],
                git_dir=self.mirror,
                env=env,
            )
            if not read.ok or not applied.ok:
                return wrong_usage(
                    f"{patch.name} does not apply to {base.short} ({base.subject})",
                    "rebase the patch onto that revision, or name another with --head",
                    (read if not read.ok else applied).output[-2000:],
                )
            tree = git(["write-tree"], git_dir=self.mirror, env=env).output.strip()
        return describe(
            self.mirror, commit_tree(self.mirror, tree, _subject(text, patch.name), parent=base.commit)
        )


def _fetch_from(reach: FetchPlan, commit: str, mirror: Path) -> process.Finished:
    words = [
        "fetch",
        "--quiet",
        "--no-tags",
        "--depth=1",
        "--",
        reach.url,
        f"{commit}:refs/cliffwatch/{commit}",
    ]
    return write_git(words, git_dir=mirror, fetching=reach)


def _not_fetched(commit: str, tree: Tree, evidence: str) -> Failure:
    message = f"revision {commit[:12]} cannot be fetched from {tree.location}"
    next_step = "check the address, the network and the space on the disk"
    repository = find_repository(Path(tree.location)) if tree.kind == "repository" else None
    if "File exists" in evidence:
        message = "another process writes to the cache's mirror and does not end"
        next_step = "end it, or wait, and repeat the command"
    elif repository is not None and repository.is_partial:
        message = f"{tree.spec} is a partial clone that lacks files of revision {commit[:12]}"
        next_step = (
            f"fetch them there: git -C {tree.location} fetch --refetch --no-filter; or name the URL of its"
            " remote"
        )
    return host_failed(message, next_step, evidence)


def open_tree(spec: str, cache: Path, access: TreeAccess) -> Tree | Failure:
    """Opens the tree that a path or URL names. Imports folders and archives that have no git repository.

    With an `access` other than `own`, only a URL that this access may fetch is accepted.
    """
    refused = _find_spec_problem(spec, access)
    if refused is not None:
        return refused
    mirror = open_mirror(cache / "mirror.git")
    if is_url(spec) and not spec.startswith(_LOCAL):
        return Tree(spec=spec, kind="url", location=spec, mirror=mirror, access=access)
    path = Path(unquote(spec.removeprefix(_LOCAL)) if is_url(spec) else spec).expanduser()
    if not os.access(path, os.R_OK):
        return _no_tree(spec, path)
    if path.is_file() and _ARCHIVE.search(path.name):
        return _archive(path.resolve(), spec, mirror)
    repository = find_repository(path) if path.is_dir() else None
    if repository is not None and _is_in(path.resolve(), repository):
        return Tree(spec=spec, kind="repository", location=str(path.resolve()), mirror=mirror, access="own")
    return _folder(path.resolve(), spec, mirror)


def open_mirror(folder: Path) -> Path:
    """Creates a bare repository for fetched objects if there is none. Returns `folder`."""
    if not (folder / "HEAD").exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        write_git(["init", "--quiet", "--bare"], git_dir=folder)
    return folder


def is_url(spec: str) -> bool:
    return _URL.match(spec) is not None


def _find_spec_problem(spec: str, access: TreeAccess) -> Failure | None:
    if not spec.strip():
        return wrong_usage("--tree is empty", _NAME_A_TREE)
    reach = plan_fetch(spec, access) if access != "own" or is_url(spec) else None
    return reach if isinstance(reach, Failure) else None


def _no_tree(spec: str, path: Path) -> Failure:
    if os.path.lexists(path):
        return wrong_usage(f"you may not read the tree '{spec}'", "copy it, or ask its owner to let you")
    return wrong_usage(f"there is no tree '{spec}'", _NAME_A_TREE)


def _is_in(path: Path, repository: NamedRepository) -> bool:
    """True if the path belongs to the repository. An unpacked source below somebody's checkout does not."""
    if repository.top is None:
        return repository.own == path
    makefile = path.relative_to(repository.top) / "Makefile"
    with repository_view(repository) as view:
        return git(["rev-parse", "--verify", "--quiet", f"HEAD:{makefile}"], git_dir=view).ok


def _archive(path: Path, spec: str, mirror: Path) -> Tree | Failure:
    """Imports a source archive. A file of the same path, size and time is imported only once."""
    about = path.stat()
    mark = hashlib.sha256(f"{path}\0{about.st_size}\0{about.st_mtime_ns}".encode()).hexdigest()[:24]
    name = f"refs/imports/{mark}"
    known = git(["rev-parse", "--verify", "--quiet", name], git_dir=mirror)
    if known.ok:
        return Tree(spec=spec, kind="imported", location=known.output.strip(), mirror=mirror, access="own")
    tree = import_archive(path, mirror)
    if isinstance(tree, Failure):
        return tree
    commit = commit_tree(mirror, tree, f"Import of {path.name}")
    makefile = git(["cat-file", "blob", f"{commit}:Makefile"], git_dir=mirror)
    if "PATCHLEVEL" not in makefile.output:
        return _no_kernel_tree(spec)
    write_git(["update-ref", name, commit], git_dir=mirror)
    return Tree(spec=spec, kind="imported", location=commit, mirror=mirror, access="own")


def _folder(path: Path, spec: str, mirror: Path) -> Tree | Failure:
    """Imports a source folder as one commit."""
    if not (path / "Makefile").is_file() or "PATCHLEVEL" not in (path / "Makefile").read_text(
        errors="replace"
    ):
        return _no_kernel_tree(spec)
    if (path / ".config").exists() or (path / "vmlinux").exists():
        return wrong_usage(f"{spec} has been built in", "run `make mrproper` there, or name a git repository")
    tree = import_folder(path, mirror)
    if isinstance(tree, Failure):
        return tree
    commit = commit_tree(mirror, tree, f"Import of {path.name}")
    return Tree(spec=spec, kind="imported", location=commit, mirror=mirror, access="own")


def _no_kernel_tree(spec: str) -> Failure:
    return wrong_usage(
        f"{spec} is no kernel tree: it has no Makefile with VERSION and PATCHLEVEL",
        "name the top folder of a kernel source, or an archive of one",
    )


def _is_complete(mirror: Path, commit: str) -> bool:
    """True if a fetch of this commit finished: only then is there a ref to it."""
    return git(["rev-parse", "--verify", "--quiet", f"refs/cliffwatch/{commit}"], git_dir=mirror).ok


def _explain_unknown_name(name: str) -> Failure | None:
    if ".." in name:
        return wrong_usage(
            f"'{name}' is a range, not one revision",
            "name one commit, or the range alone as --base A..B without --head",
        )
    if not name or name.startswith("-") or len(name) > 250 or not name.isprintable():
        return wrong_usage(f"'{name[:60]}' is no name of a revision", "name a branch, a tag or a hash")
    return None


def _unknown(name: str, spec: str, hint: str) -> Failure:
    return wrong_usage(f"{spec} has no revision '{name}'", hint)


def _suggest_names(repository: Path, name: str) -> str:
    """Suggests branches and tags that look like the name that was not found."""
    words = ["for-each-ref", "--format=%(refname:short)", "refs/heads", "refs/tags", "refs/remotes"]
    names = read_repository(repository, words).output.split()
    stem = name.split("~", maxsplit=1)[0].split("^", maxsplit=1)[0].lower()
    near = [each for each in names if stem and (stem in each.lower() or each.lower() in stem)][:5]
    return (
        f"did you mean {', '.join(near)}?"
        if near
        else "fetch it into that repository first, or check the spelling"
    )


def _subject(text: str, fallback: str) -> str:
    match = _SUBJECT.search(text)
    return match[1].strip() if match else fallback
