"""Several runs on one cache: who writes waits for who writes, and a lock that a killed git left
stops nobody.
"""

import os
import shutil
import subprocess
import sys
import tarfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from toy import FAKELINUX, RecordedProgress, change, request, run_toy

from cliffwatch.failure import Failure
from cliffwatch_runner import clock
from cliffwatch_runner.source import git as git_calls
from cliffwatch_runner.source.git import git
from cliffwatch_runner.source.revision import Revision, check_out
from cliffwatch_runner.source.tree import Tree, open_tree


def opened(spec: Path | str, cache: Path) -> Tree:
    tree = open_tree(str(spec), cache, "own")
    assert isinstance(tree, Tree), tree
    return tree


def resolved(tree: Tree, name: str) -> Revision:
    revision = tree.resolve(name)
    assert isinstance(revision, Revision), revision
    return revision


def test_runs_that_fetch_into_one_mirror_wait_for_each_other(repository: Path, tmp_path: Path) -> None:
    commits = [change(repository, "note", f"{number}\n", f"Note {number}") for number in range(12)]
    ready = threading.Barrier(4)

    def fetch(first: int) -> list[str]:
        ready.wait()
        tree = opened(repository, tmp_path / "cache")
        return [resolved(tree, commit).commit for commit in commits[first::4]]

    with ThreadPoolExecutor(4) as pool:
        fetched = list(pool.map(fetch, range(4)))

    assert sorted(commit for those in fetched for commit in those) == sorted(commits)


@pytest.mark.usefixtures("stand_in")
def test_two_runs_at_once_with_one_cache_both_come_to_their_end(repository: Path, tmp_path: Path) -> None:
    change(repository, "note", "one\n", "A note")

    def run(name: str) -> object:
        wanted = request(repository, tmp_path, base="HEAD~1", head="HEAD", out=tmp_path / name)
        return run_toy(wanted, RecordedProgress())

    with ThreadPoolExecutor(2) as pool:
        ended = list(pool.map(run, ("one", "two")))

    assert not [each for each in ended if isinstance(each, tuple)], ended


STALE = ("shallow.lock", "refs/cliffwatch/{commit}.lock", "config.lock", "HEAD.lock", "packed-refs.lock")


@pytest.mark.parametrize("lock", STALE)
def test_a_lock_that_nobody_holds_stops_no_fetch(lock: str, repository: Path, tmp_path: Path) -> None:
    tree = opened(repository, tmp_path / "cache")
    resolved(tree, "v6.12")
    commit = change(repository, "note", "one\n", "A note")
    left = tree.mirror / lock.format(commit=commit)
    left.touch()

    assert resolved(opened(repository, tmp_path / "cache"), commit).commit == commit
    assert not left.exists() or lock in (
        "config.lock",
        "HEAD.lock",
        "packed-refs.lock",
    ), "a lock in nobody's way stays"


@pytest.mark.parametrize("lock", ["config.lock", "HEAD.lock"])
def test_a_mirror_whose_making_was_killed_is_made(lock: str, repository: Path, tmp_path: Path) -> None:
    (tmp_path / "cache/mirror.git").mkdir(parents=True)
    (tmp_path / "cache/mirror.git" / lock).touch()

    assert resolved(opened(repository, tmp_path / "cache"), "v6.12").release.startswith("6.12")


def test_locks_of_imports_that_nobody_holds_stop_none(tmp_path: Path) -> None:
    shutil.copytree(FAKELINUX, tmp_path / "linux-6.12")
    with tarfile.open(tmp_path / "linux-6.12.tar", "w") as archive:
        archive.add(tmp_path / "linux-6.12", "linux-6.12")
    commit = opened(tmp_path / "linux-6.12", tmp_path / "cache").location
    mirror = tmp_path / "cache/mirror.git"
    (index,) = [path for path in (mirror / "imports").iterdir() if "." not in path.name]
    index.with_name(f"{index.name}.lock").touch()
    (mirror / "packed-refs.lock").touch()

    assert opened(tmp_path / "linux-6.12", tmp_path / "cache").location == commit
    of_archive = opened(tmp_path / "linux-6.12.tar", tmp_path / "cache").location
    assert git(["rev-parse", f"{of_archive}^{{tree}}"], git_dir=mirror).ok
    assert not git(["for-each-ref", "refs/importing"], git_dir=mirror).output
    assert not list(mirror.rglob("*.lock"))


def checked_out(tree: Tree, revision: Revision, folder: Path) -> Failure | None:
    return check_out(tree.mirror, revision, folder / "source", folder / "index", keep_free="none")


def test_an_index_lock_that_nobody_holds_stops_no_check_out(repository: Path, tmp_path: Path) -> None:
    tree = opened(repository, tmp_path / "cache")
    folder = tmp_path / "cache/worktrees/one"
    folder.mkdir(parents=True)
    (folder / "index.lock").touch()

    assert checked_out(tree, resolved(tree, "v6.12"), folder) is None
    assert (folder / "source/behaviour").is_file()


@contextmanager
def holding(lock: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that has made the lock and has it open."""
    code = f"import sys; lock = open({str(lock)!r}, 'x'); print(flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as held:
        assert held.stdout is not None
        held.stdout.readline()
        yield held


@contextmanager
def git_within(mirror: Path, lock: Path, name: str = "git-stand-in") -> Iterator[subprocess.Popen[bytes]]:
    """A git that works in the mirror and has closed the lock already, as git does with those of refs."""
    program = mirror.parent / name
    if not program.exists():
        program.symlink_to(sys.executable)
    lock.touch()
    code = "import sys; print(flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [str(program), "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=mirror
    ) as held:
        assert held.stdout is not None
        held.stdout.readline()
        yield held


def waits(work: Callable[[], object], held: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    """`work` waits for as long as the holder lives, and the lock stays meanwhile; then it is done."""
    waited = threading.Event()
    go_on = threading.Event()

    def pause(_: float) -> None:
        waited.set()
        assert go_on.wait(60)

    monkeypatch.setattr(clock, "pause", pause)
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(work)
        assert waited.wait(60)
        assert not done.done()
        held.kill()
        held.wait()
        go_on.set()
        done.result(60)


@pytest.mark.parametrize("lock", ["shallow.lock", "refs/cliffwatch/{commit}.lock"])
@pytest.mark.parametrize("holder", [holding, git_within], ids=["has it open", "a git in the mirror"])
def test_a_lock_that_a_living_process_holds_is_waited_for(
    holder: Callable[[Path], object],
    lock: str,
    repository: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tree = opened(repository, tmp_path / "cache")
    resolved(tree, "v6.12")
    commit = change(repository, "note", "one\n", "A note")
    left = tree.mirror / lock.format(commit=commit)

    with holding(left) if holder is holding else git_within(tree.mirror, left) as held:
        kept = []

        def fetch() -> None:
            kept.append(left.exists())
            resolved(tree, commit)

        waits(fetch, held, monkeypatch)
    assert kept == [True]


def test_an_index_that_a_living_git_writes_is_waited_for(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The git of a run that was killed may live on."""
    tree = opened(repository, tmp_path / "cache")
    revision = resolved(tree, "v6.12")
    folder = tmp_path / "cache/worktrees/one"
    folder.mkdir(parents=True)

    with holding(folder / "index.lock") as held:
        waits(lambda: checked_out(tree, revision, folder), held, monkeypatch)
    assert (folder / "source/behaviour").is_file()


def test_git_keeps_the_lock_of_a_run_that_was_killed(repository: Path, tmp_path: Path) -> None:
    """Its git goes on by itself, so that the next run must wait for it."""
    mirror = opened(repository, tmp_path / "cache").mirror
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    code = (
        "import sys; from pathlib import Path; from cliffwatch_runner.source.git import write_git\n"
        "write_git(['hash-object', sys.argv[2]], git_dir=Path(sys.argv[1]))"
    )
    with ExitStack() as ends:
        killed = ends.enter_context(subprocess.Popen([sys.executable, "-c", code, str(mirror), str(fifo)]))
        writer = ends.enter_context(fifo.open("wb"))  # returns once git reads
        killed.kill()
        killed.wait()
        lock = os.open(mirror / "cliffwatch-writing", os.O_RDWR)
        ends.callback(os.close, lock)
        assert not git_calls._try_lock(lock)
        writer.close()
        while not git_calls._try_lock(lock):
            os.sched_yield()


def test_what_a_server_says_removes_no_file_elsewhere(repository: Path, tmp_path: Path) -> None:
    mirror = opened(repository, tmp_path / "cache").mirror
    (tmp_path / "precious.lock").touch()
    said = f"remote: Unable to create '{tmp_path}/precious.lock': File exists"

    assert git_calls._find_blocking_lock(said, mirror) is None
    assert (
        git_calls._find_blocking_lock(f"Unable to create '{mirror}/../../precious.lock': File exists", mirror)
        is None
    )
    assert (
        git_calls._find_blocking_lock(f"Unable to create '{mirror}/x.lock': Permission denied", mirror)
        is None
    )


def test_a_git_of_another_mirror_of_the_same_name_is_not_waited_for(repository: Path, tmp_path: Path) -> None:
    tree = opened(repository, tmp_path / "cache")
    resolved(tree, "v6.12")
    commit = change(repository, "note", "one\n", "A note")
    (tmp_path / "other/mirror.git").mkdir(parents=True)

    with git_within(tmp_path / "other/mirror.git", tmp_path / "other/mirror.git/shallow.lock") as held:
        (tree.mirror / "shallow.lock").touch()
        assert resolved(tree, commit).commit == commit
        held.kill()


def test_a_git_of_somebody_else_that_does_not_end_is_named(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = opened(repository, tmp_path / "cache")
    monkeypatch.setattr(git_calls, "_OTHERS_PATIENCE", -1.0)

    with (
        git_within(tree.mirror, tree.mirror / "other.lock") as git,
        holding(tree.mirror / "shallow.lock") as held,
    ):
        failure = tree.resolve("v6.12")
        git.kill()
        held.kill()

    assert isinstance(failure, Failure)
    assert f"(pid {held.pid}) writes to" in failure.evidence
    assert "another process" in failure.message
