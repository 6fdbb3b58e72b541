"""Checks out revisions of a Go library's repository as folders.

Who wrote the commits does not matter: nothing in them is executed, and no link is followed.
"""

from pathlib import Path

from cliffwatch.failure import Failure, host_failed, wrong_usage
from cliffwatch_runner.source.access import TreeAccess
from cliffwatch_runner.source.git import git
from cliffwatch_runner.source.named_repository import find_repository
from cliffwatch_runner.source.tree import Tree, is_url, open_mirror
from cliffwatch_runner.source.tree_size import refuse_large


def open_library(spec: str, home: Path, access: TreeAccess) -> Tree | Failure:
    """Returns the repository that a path or URL names. Its mirror is in `home`, apart from kernel objects."""
    if not is_url(spec):
        found = find_repository(Path(spec)) if Path(spec).is_dir() else None
        if access != "own" or found is None:
            return wrong_usage(
                f"there is no repository '{spec[:200]}'", "name a git repository of the library, or its URL"
            )
        spec = str(found.top or found.own)
    mirror = open_mirror(home / "library.git")
    return Tree(
        spec=spec, kind="url" if is_url(spec) else "repository", location=spec, mirror=mirror, access=access
    )


def check_out_library(library: Tree, commit: str, folder: Path) -> Failure | None:
    """Checks a commit, given by its full hash, out into `folder`.

    A symbolic link becomes a file with the link's text, so that no link leads to files of this host.
    """
    fetched = library.fetch(commit)
    if isinstance(fetched, Failure):
        return fetched
    large = refuse_large(library.mirror, commit)
    if large is not None:
        return large
    folder.mkdir(parents=True)
    env = {"GIT_INDEX_FILE": f"{folder}.index", "GIT_WORK_TREE": str(folder)}
    words = ["-c", "core.symlinks=false", "read-tree", "--reset", "-u", commit]
    done = git(words, git_dir=library.mirror, cwd=folder, env=env)
    if done.ok:
        return None
    return host_failed(
        f"the library's revision {commit[:12]} cannot be checked out",
        "look at the free space of the disk of temporary files",
        done.output[-2000:],
    )
