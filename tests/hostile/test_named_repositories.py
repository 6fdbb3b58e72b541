"""Naming a tree, or standing in one, runs nothing of it on the host: no program of its settings, no hook, no
filter; nothing is fetched from where it says.
"""

import ast
import os
import shutil
import subprocess
from pathlib import Path

import pytest
import toy

from cliffwatch.failure import Failure
from cliffwatch_runner.ci.change import commit_of, policy_at
from cliffwatch_runner.run.bisection.commits import describe_commit, read_history
from cliffwatch_runner.source.library import check_out_library, open_library
from cliffwatch_runner.source.revision import Revision, check_out, list_files, read_blob
from cliffwatch_runner.source.tree import Tree, open_tree
from cliffwatch_service.history.git import branch_head, fetch_commits

TESTS = Path(__file__).parents[1]
HOOKS = (
    "post-checkout",
    "post-index-change",
    "reference-transaction",
    "pre-auto-gc",
    "fsmonitor-watchman",
    "post-commit",
)
SETTINGS = """
[core]
\tsshCommand = {trap}/ssh
\tfsmonitor = {trap}/fsmonitor
\thooksPath = {trap}/hooks
\tpager = {trap}/pager
\taskPass = {trap}/askpass
\tgitProxy = {trap}/proxy
\talternateRefsCommand = {trap}/alternates
\tattributesFile = {trap}/attributes
[credential]
\thelper = !{trap}/helper
[filter "trap"]
\tclean = {trap}/clean
\tsmudge = {trap}/smudge
\trequired = true
[diff]
\texternal = {trap}/diff
[diff "trap"]
\tcommand = {trap}/diff-command
\ttextconv = {trap}/textconv
[log]
\tshowSignature = true
[gpg]
\tprogram = {trap}/gpg
[alias]
\trev-parse = !{trap}/alias
[uploadpack]
\tpackObjectsHook = {trap}/pack
[protocol]
\tallow = always
[protocol "ssh"]
\tallow = always
[protocol "file"]
\tallow = always
[protocol "ext"]
\tallow = always
[url "ext::{trap}/instead "]
\tinsteadOf = http://
"""
PARTIAL = """
[extensions]
\tpartialClone = origin
[remote "origin"]
\tpromisor = true
\turl = {url}
\tuploadpack = {trap}/upload-pack
\tfetch = +refs/heads/*:refs/remotes/origin/*
"""
URLS = ("ssh://git@example.invalid/linux", "ext::{trap}/ext", "file:///nowhere", "http://127.0.0.1:9/linux")


class Trap:
    """Programs of which each writes its name into a folder when it is run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.used = folder / "used"
        self.used.mkdir(parents=True)
        names = (
            "ssh fsmonitor pager askpass proxy alternates helper clean smudge diff diff-command textconv gpg"
            " alias pack"
        )
        for name in (*names.split(), "instead", "upload-pack", "ext", *(f"hooks/{hook}" for hook in HOOKS)):
            self.program(folder / name)
        (folder / "attributes").write_text("* filter=trap diff=trap\n")

    def program(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'#!/bin/sh\necho "$0 $*" >> {self.used}/{path.name}\nexit 1\n')
        path.chmod(0o755)

    def set_in(self, git_dir: Path, more: str = "", url: str = "") -> None:
        """Makes a repository's settings and hooks run the programs."""
        with (git_dir / "config").open("a") as file:
            file.write((SETTINGS + more).format(trap=self.folder, url=url.format(trap=self.folder)))
        for hook in HOOKS:
            self.program(git_dir / "hooks" / hook)
        (git_dir / "info").mkdir(exist_ok=True)
        (git_dir / "info" / "attributes").write_text("* filter=trap diff=trap\n")

    @property
    def sprung(self) -> list[str]:
        return sorted(each.name for each in self.used.iterdir())


@pytest.fixture
def trap(tmp_path: Path) -> Trap:
    return Trap(tmp_path / "trap")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A tree with attributes that name a filter, and two commits."""
    made = toy.toy_repository(tmp_path)
    toy.change(made, ".gitattributes", "* filter=trap diff=trap\n", "Attributes")
    return made


def lose(repository: Path, name: str) -> str:
    """Takes an object away, as a partial clone lacks it."""
    lost = toy.git(repository, "rev-parse", name)
    (repository / ".git" / "objects" / lost[:2] / lost[2:]).unlink()
    return lost


def opened(spec: Path | str, cache: Path) -> Tree:
    tree = open_tree(str(spec), cache, "own")
    assert isinstance(tree, Tree), tree
    return tree


def test_a_repository_with_traps_is_read_fetched_and_checked_out(
    repository: Path, trap: Trap, tmp_path: Path
) -> None:
    trap.set_in(repository / ".git")
    revision = opened(repository, tmp_path / "cache").resolve("HEAD")

    assert isinstance(revision, Revision), revision
    mirror = tmp_path / "cache" / "mirror.git"
    assert (
        check_out(mirror, revision, tmp_path / "source", tmp_path / "index", keep_free=".cliffwatch") is None
    )
    assert (tmp_path / "source" / "Makefile").read_bytes() == (repository / "Makefile").read_bytes()
    assert read_blob(mirror, revision, "Makefile") == (repository / "Makefile").read_text()
    assert "Makefile" in list_files(mirror, revision, "")
    assert trap.sprung == []


@pytest.mark.parametrize("url", URLS)
@pytest.mark.parametrize("lost", ["HEAD", "HEAD^{tree}", "HEAD:Makefile"])
def test_what_a_partial_clone_lacks_is_fetched_from_nowhere(
    repository: Path, trap: Trap, tmp_path: Path, lost: str, url: str
) -> None:
    (repository / ".git" / "objects" / "pack" / "pack-0.promisor").touch()
    lose(repository, lost)
    trap.set_in(repository / ".git", PARTIAL, url)
    ended = opened(repository, tmp_path / "cache").resolve("master") if lost == "HEAD:Makefile" else None
    other = open_tree(str(repository), tmp_path / "cache", "own")
    missing = other.resolve("0" * 39 + "1") if isinstance(other, Tree) else other

    assert isinstance(missing, Failure)
    if ended is not None:
        assert isinstance(ended, Failure)
        assert "is a partial clone that lacks files of revision" in ended.message
        assert "fetch --refetch" in ended.next_step
    assert trap.sprung == []


def test_a_file_url_of_a_hostile_repository_is_read_no_otherwise(
    repository: Path, trap: Trap, tmp_path: Path
) -> None:
    lose(repository, "HEAD:Makefile")
    trap.set_in(repository / ".git", PARTIAL, "ssh://git@example.invalid/linux")

    assert isinstance(opened(f"file://{repository}", tmp_path / "cache").resolve("master"), Failure)
    assert trap.sprung == []


@pytest.mark.parametrize("where", [".", "drivers", "kernel/deep"])
def test_a_folder_with_a_nested_repository_is_imported_as_plain_files(
    repository: Path, trap: Trap, tmp_path: Path, where: str
) -> None:
    folder = tmp_path / "linux-6.12"
    shutil.copytree(repository, folder, ignore=shutil.ignore_patterns(".git"))
    nested = folder / where
    nested.mkdir(parents=True, exist_ok=True)
    toy.git(nested, "init", "--quiet")
    (nested / "inner.c").write_text("int inner;\n")
    (nested / ".gitattributes").write_text("* filter=trap diff=trap\n")
    if where != ".":
        toy.git(nested, "add", "inner.c")
        toy.git(nested, "commit", "--quiet", "--message", "Inner")
    trap.set_in(nested / ".git")
    (nested / "inner.c").write_text("int changed;\n")
    tree = opened(folder, tmp_path / "cache")
    revision = tree.resolve("HEAD")

    assert isinstance(revision, Revision), revision
    assert tree.kind == "imported"
    assert read_blob(tree.mirror, revision, os.path.normpath(f"{where}/inner.c")) == "int changed;\n"
    assert ".git" not in list_files(tree.mirror, revision, "" if where == "." else where)
    assert trap.sprung == []


def test_an_import_follows_the_folder(tmp_path: Path) -> None:
    """Files that went, came, changed and became folders; names of any bytes; links stay links; what is no
    file is left out.
    """
    folder = tmp_path / "linux-6.12"
    shutil.copytree(toy.FAKELINUX, folder)
    odd = os.fsencode(folder) + b"/odd\xff\n name"
    Path(os.fsdecode(odd)).write_text("odd\n")
    (folder / "gone").write_text("gone\n")
    (folder / "becomes").write_text("a file\n")
    (folder / "link").symlink_to("/etc/passwd")
    (folder / "linked").symlink_to("kernel")
    first = opened(folder, tmp_path / "cache")
    Path(os.fsdecode(odd)).unlink()
    (folder / "gone").unlink()
    (folder / "becomes").unlink()
    (folder / "becomes").mkdir()
    (folder / "becomes" / "deep").write_text("deep\n")
    os.mkfifo(folder / "pipe")
    second = opened(folder, tmp_path / "cache")
    again = opened(folder, tmp_path / "another")
    listed = [
        subprocess.run(
            ["git", f"--git-dir={tree.mirror}", "ls-tree", "-r", "--name-only", "-z", tree.location],
            capture_output=True,
            check=True,
        ).stdout.split(b"\0")
        for tree in (first, second)
    ]

    assert second.location == again.location != first.location
    assert set(listed[0]) - set(listed[1]) == {b"odd\xff\n name", b"gone", b"becomes"}
    assert set(listed[1]) - set(listed[0]) == {b"becomes/deep"}
    assert {b"link", b"linked"} <= set(listed[1])


def test_ci_and_bisection_run_nothing_of_the_checkout(repository: Path, trap: Trap) -> None:
    toy.change(repository, "note", "1\n", "A note")
    good, bad = (toy.git(repository, "rev-parse", name) for name in ("HEAD~2", "HEAD"))
    trap.set_in(repository / ".git", PARTIAL, "ssh://git@example.invalid/linux")
    lost = lose(repository, "HEAD:note")

    assert commit_of(repository, "master") == bad
    assert commit_of(repository, lost) is None
    assert commit_of(repository, "0" * 39 + "1") is None
    assert not isinstance(policy_at(repository, bad), Failure)
    assert not isinstance(read_history(repository, good, bad), Failure)
    assert isinstance(read_history(repository, "0" * 39 + "1", bad), Failure)
    assert describe_commit(repository, bad).subject == "A note"
    assert trap.sprung == []


def test_a_library_is_checked_out_without_its_settings(repository: Path, trap: Trap, tmp_path: Path) -> None:
    trap.set_in(repository / ".git")
    library = open_library(str(repository), tmp_path, "own")
    assert isinstance(library, Tree)

    assert check_out_library(library, toy.git(repository, "rev-parse", "HEAD"), tmp_path / "out") is None
    assert (tmp_path / "out" / "Makefile").exists()
    assert trap.sprung == []


@pytest.mark.parametrize("shape", ["worktree", "bare", "packed", "detached"])
def test_every_shape_of_a_repository_is_read(repository: Path, tmp_path: Path, shape: str) -> None:
    commit = toy.change(repository, "note", "1\n", "A note")
    named = repository
    if shape == "worktree":
        named = tmp_path / "other"
        toy.git(repository, "worktree", "add", "--quiet", "--detach", str(named), "HEAD~1")
    elif shape == "bare":
        named = tmp_path / "linux.git"
        toy.git(repository, "clone", "--quiet", "--bare", str(repository), str(named))
    elif shape == "packed":
        toy.git(repository, "gc", "--quiet")
    else:
        toy.git(repository, "checkout", "--quiet", "--detach")
    tree = opened(named, tmp_path / "cache")
    found = [tree.resolve(name) for name in ("HEAD", "master", "v6.12", "HEAD~1", commit[:10])]

    assert all(isinstance(each, Revision) for each in found), found
    head = toy.git(named, "rev-parse", "HEAD")
    assert [each.commit for each in found if isinstance(each, Revision)][:2] == [head, commit]


def test_a_repository_above_a_folder_that_another_user_put_there_is_not_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever may write to a folder above, such as /tmp, could otherwise say what a folder holds."""
    above = tmp_path / "shared"
    folder = above / "linux-6.12"
    shutil.copytree(toy.FAKELINUX, folder)
    toy.git(above, "init", "--quiet")
    toy.git(above, "add", "--all")
    toy.git(above, "commit", "--quiet", "--message", "Planted")
    assert opened(folder, tmp_path / "cache").kind == "repository"
    real = Path.stat

    def stat(path: Path, **more: bool) -> os.stat_result:
        about = real(path, **more)
        return os.stat_result((*about[:4], 12345, *about[5:])) if path.name == ".git" else about

    monkeypatch.setattr(Path, "stat", stat)

    assert opened(folder, tmp_path / "cache").kind == "imported"


def test_settings_of_the_folder_that_one_stands_in_are_not_read(
    repository: Path, trap: Trap, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A user in a hostile checkout asks for a tree by its URL; a service is started in one."""
    trap.set_in(repository / ".git")
    monkeypatch.chdir(repository)
    url = "http://127.0.0.1:9/linux"
    for access in ("own", "allowed"):
        tree = open_tree(url, tmp_path / "cache", access)
        assert isinstance(tree, Tree)
        assert isinstance(tree.resolve("master"), Failure)
        assert isinstance(tree.resolve("1" * 40), Failure)
    branch_head(url, "master")
    fetch_commits(tmp_path / "git", url, "master", known=None)

    assert trap.sprung == []


def _git_lists(source: Path) -> list[int]:
    """Lines on which a list or tuple begins with "git" and goes on as a call."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(source.read_text()))
        if isinstance(node, (ast.List, ast.Tuple))
        and len(node.elts) > 1
        and isinstance(node.elts[0], ast.Constant)
        and node.elts[0].value == "git"
        and " " not in ast.unparse(node.elts[1])
    ]


def test_one_place_makes_a_git_command_line() -> None:
    top = TESTS.parent
    found = {
        str(source.relative_to(top)): lines
        for folder in ("cliffwatch", "runner/cliffwatch_runner", "service/cliffwatch_service")
        for source in (top / folder).rglob("*.py")
        if (lines := _git_lists(source))
    }

    assert list(found) == ["cliffwatch/trees/git_command.py"]
