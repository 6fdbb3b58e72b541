"""What is small on the wire and large on the disk or in memory: git trees, archives, programs; and a mirror
that only grows.
"""

import io
import lzma
import os
import struct
import subprocess
import tarfile
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import toy

from cliffwatch.failure import Failure
from cliffwatch_runner.build.cache.listing import list_cache
from cliffwatch_runner.build.cache.pruning import prune_mirror
from cliffwatch_runner.build.cache.uses import cache_uses
from cliffwatch_runner.build.kernel import Kernel
from cliffwatch_runner.build.programs.loaded import loaded_digest
from cliffwatch_runner.run.unchanged_builds import leaving_out
from cliffwatch_runner.source import archive_stream
from cliffwatch_runner.source.library import check_out_library, open_library
from cliffwatch_runner.source.revision import Revision, check_out, describe
from cliffwatch_runner.source.tree import Tree, open_mirror, open_tree
from cliffwatch_runner.source.tree_size import LIMITS, TreeLimits, refuse_large
from cliffwatch_runner.worker.limits import JobLimits

MAKEFILE = b"VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 0\n"
ENV = {
    **{f"GIT_{who}_{what}": "x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
    "PATH": os.environ["PATH"],
}


class Repository:
    """A bare repository that is written by its objects."""

    def __init__(self, home: Path) -> None:
        self.home = home
        subprocess.run(["git", "init", "--quiet", "--bare", str(home)], check=True, env=ENV)

    def git(self, *words: str, given: bytes = b"") -> str:
        argv = ["git", "-C", str(self.home), *words]
        return (
            subprocess.run(argv, input=given, check=True, capture_output=True, env=ENV)
            .stdout.decode()
            .strip()
        )

    def blob(self, content: bytes) -> str:
        return self.git("hash-object", "-w", "--stdin", given=content)

    def tree(self, *entries: tuple[str, str, str]) -> str:
        """Of kind (blob or tree), hash and name."""
        modes = {"blob": "100644", "tree": "040000"}
        lines = [f"{modes[kind]} {kind} {name}\t{path}\0" for kind, name, path in entries]
        return self.git("mktree", "-z", "--missing", given="".join(lines).encode())

    def commit(self, *entries: tuple[str, str, str]) -> str:
        """With a Makefile of Linux beside these entries."""
        tree = self.tree(*entries, ("blob", self.blob(MAKEFILE), "Makefile"))
        commit = self.git("commit-tree", "-m", "bomb", tree)
        self.git("update-ref", "refs/heads/master", commit)
        return commit

    def size(self) -> int:
        return sum(path.stat().st_size for path in self.home.rglob("*") if path.is_file())


@pytest.fixture
def bombs(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "bombs.git")


def million_files(bombs: Repository) -> str:
    kind, name = "blob", bombs.blob(b"")
    for _ in range(6):
        kind, name = "tree", bombs.tree(*((kind, name, str(each)) for each in range(10)))
    return bombs.commit((kind, name, "files"))


def million_folders(bombs: Repository) -> str:
    name = bombs.tree()
    for _ in range(6):
        name = bombs.tree(*(("tree", name, str(each)) for each in range(10)))
    return bombs.commit(("tree", name, "folders"))


def many_gigabytes(bombs: Repository) -> str:
    name = bombs.blob(bytes(64 << 20))
    name = bombs.tree(*(("blob", name, str(each)) for each in range(200)))
    return bombs.commit(("tree", name, "zeros"))


def deep(bombs: Repository) -> str:
    name = bombs.tree(("blob", bombs.blob(b""), "x"))
    for _ in range(200):
        name = bombs.tree(("tree", name, "d"))
    return bombs.commit(("tree", name, "d"))


def long_path(bombs: Repository) -> str:
    return bombs.commit(("blob", bombs.blob(b""), "x" * 4000))


def endless_path(bombs: Repository) -> str:
    return bombs.commit(("blob", bombs.blob(b""), "x" * 1_000_000))


BOMBS = {
    "more than 300,000 files and folders": (million_files, million_folders),
    "more than 4.0 GiB of files": (many_gigabytes,),
    "folders more than 64 levels deep": (deep,),
    "paths of more than 1024 bytes": (long_path, endless_path),
}
EACH = [pytest.param(make, why, id=make.__name__) for why, makers in BOMBS.items() for make in makers]


@pytest.mark.parametrize(("make", "why"), EACH)
def test_a_small_commit_of_many_files_is_not_checked_out(
    bombs: Repository, tmp_path: Path, make: Any, why: str
) -> None:
    commit = make(bombs)
    assert bombs.size() < 2_000_000
    revision = describe(bombs.home, commit)
    assert isinstance(revision, Revision)
    failure = check_out(bombs.home, revision, tmp_path / "source", tmp_path / "index", keep_free="build")
    assert isinstance(failure, Failure)
    assert (failure.whose, failure.message) == (
        "kernel",
        f"revision {commit[:12]} is not checked out: it has {why}",
    )
    assert not (tmp_path / "source").exists()
    assert not (tmp_path / "index").exists()


def test_a_bomb_is_refused_when_it_is_fetched_and_has_no_name_then(bombs: Repository, tmp_path: Path) -> None:
    """Again and again: patches are applied in an index, which has an entry for each file."""
    commit = million_files(bombs)
    tree = open_tree(str(bombs.home), tmp_path / "cache", "own")
    assert isinstance(tree, Tree)
    for _ in range(2):
        failure = tree.resolve(commit)
        assert isinstance(failure, Failure)
        assert "300,000 files" in failure.message


def test_a_bomb_of_a_library_is_not_checked_out(bombs: Repository, tmp_path: Path) -> None:
    commit = million_files(bombs)
    library = open_library(str(bombs.home), tmp_path / "home", "own")
    assert isinstance(library, Tree)
    failure = check_out_library(library, commit, tmp_path / "library")
    assert isinstance(failure, Failure)
    assert "300,000 files" in failure.message
    assert not (tmp_path / "library").exists()


def test_a_tree_at_its_limits_is_checked_out(bombs: Repository, tmp_path: Path) -> None:
    name = bombs.blob(b"four")
    folder = bombs.tree(*(("blob", name, str(each)) for each in range(10)))
    commit = bombs.commit(("tree", folder, "a"))
    size = 40 + len(MAKEFILE)
    fits = TreeLimits(entries=12, total_bytes=size, levels=2, path_bytes=8)
    assert refuse_large(bombs.home, commit, fits) is None
    for less in ({"entries": 11}, {"total_bytes": size - 1}, {"levels": 1}, {"path_bytes": 7}):
        assert isinstance(refuse_large(bombs.home, commit, replace(fits, **less)), Failure)


def test_a_commit_whose_objects_are_missing_is_not_checked_out(bombs: Repository) -> None:
    commit = bombs.commit(("tree", "1" * 40, "missing"))
    failure = refuse_large(bombs.home, commit)
    assert isinstance(failure, Failure)
    assert "cannot be listed" in failure.message


def test_fetched_zeros_stay_small_in_the_mirror(bombs: Repository, tmp_path: Path) -> None:
    commit = bombs.commit(("blob", bombs.blob(bytes(256 << 20)), "zeros"))
    tree = open_tree(str(bombs.home), tmp_path / "cache", "own")
    assert isinstance(tree, Tree)
    assert isinstance(tree.resolve(commit), Revision)
    (mirror,) = list_cache(tmp_path / "cache", ("mirror",)).entries
    assert mirror.bytes < 8 << 20


def zeros(size: int, files: int) -> bytes:
    """A tar archive of a kernel's Makefile and files of zeros."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, content in (
            ("linux/Makefile", MAKEFILE),
            *((f"linux/{each}", bytes(size)) for each in range(files)),
        ):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def pax_of(length: int) -> bytes:
    """A header that says to be so long, and is."""
    block = tarfile.TarInfo("x")
    block.type, block.size = tarfile.XHDTYPE, length
    return block.tobuf(tarfile.USTAR_FORMAT) + bytes(length)


def odd_archives() -> Iterator[Any]:
    yield pytest.param(lambda: zeros(64 << 20, 4), "unpacks to far more", id="zeros")
    yield pytest.param(lambda: zeros(0, 1) + bytes(300 << 20), "", id="padding")
    yield pytest.param(lambda: pax_of(200 << 20), "too large|unpacks to far more", id="header")
    yield pytest.param(lambda: zeros(0, 1).replace(b"linux/0", b"linux/" + b"a"), None, id="good")


@pytest.mark.parametrize(("make", "why"), list(odd_archives()))
def test_an_archive_that_unpacks_to_far_more_than_sources_do_is_not_imported(
    tmp_path: Path, make: Any, why: str | None
) -> None:
    path = tmp_path / "linux.tar.xz"
    path.write_bytes(lzma.compress(make(), preset=0))
    tree = open_tree(str(path), tmp_path / "cache", "own")
    (mirror,) = list_cache(tmp_path / "cache", ("mirror",)).entries
    assert mirror.bytes < 100 << 20
    if why is None:
        assert isinstance(tree, Tree)
        return
    assert isinstance(tree, Failure)
    assert any(each in tree.evidence for each in why.split("|"))


def test_what_an_archive_may_unpack_to() -> None:
    assert archive_stream.most_bytes(229_000) == 64 << 20
    assert archive_stream.most_bytes(145 << 20) == 4 << 30
    assert archive_stream.most_bytes(20 << 20) == 1200 << 20


@pytest.mark.parametrize("name", ["linux/" + "x" * 2000, "linux/" + "d/" * 100 + "x"])
def test_an_archive_of_long_names_is_not_imported(name: str) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        tar.addfile(tarfile.TarInfo(name))
    buffer.seek(0)
    with pytest.raises(archive_stream.BadArchive, match="too long, or too deep"):
        archive_stream.write_stream(buffer, "refs/x", io.BytesIO(), packed=1000)


def overlapping(sections: int, size: int) -> bytes:
    """A program each of whose sections is nearly all of it."""
    ident = b"\x7fELF\x02\x01".ljust(16, b"\0")
    table = 64 + size
    header = ident + struct.pack("<HHIQQQIHHHHHH", 2, 62, 1, 0, 0, table, 0, 64, 0, 0, 64, sections, 0)
    section = struct.pack("<IIQQQQIIQQ", 0, 1, 2, 0, 64, size, 0, 0, 0, 0)
    return header + bytes(size) + section * sections


def test_a_program_whose_sections_overlap_takes_no_more_memory_than_it_has_bytes() -> None:
    program = overlapping(6000, 80_000)
    tracemalloc.start()
    digest = loaded_digest(program)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1 << 20
    assert digest != loaded_digest(program + b"x")


def test_of_anybodys_code_nothing_is_read_to_look_for_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    def read(*_: Any) -> None:
        raise AssertionError("a stranger's program is read")

    monkeypatch.setattr(leaving_out, "kept_key", read)
    request = SimpleNamespace(trust="outside", cache=Path("/nonexistent"), only_affected="kept")
    arm = SimpleNamespace(kernel=Kernel.__new__(Kernel))
    run: Any = SimpleNamespace(request=request, arms={"base": arm})
    assert leaving_out._known(run) is None


def test_a_mirror_that_has_grown_goes_when_nobody_uses_it(tmp_path: Path) -> None:
    mirror = open_mirror(tmp_path / "mirror.git")
    (mirror / "objects" / "pack" / "strangers.pack").write_bytes(bytes(1 << 20))
    assert not prune_mirror(tmp_path, keep=4 << 20)
    with cache_uses() as uses:
        uses.take(mirror)
        assert not prune_mirror(tmp_path, keep=0)
        assert mirror.exists()
    assert prune_mirror(tmp_path, keep=0)
    assert not mirror.exists()
    assert not prune_mirror(tmp_path, keep=0)


def test_a_run_begins_with_a_mirror_of_limited_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The source is fetched again and its worktree goes on."""
    monkeypatch.setattr("cliffwatch_runner.build.cache.pruning.KEEP_MIRROR_BYTES", 0)
    repository = toy.toy_repository(tmp_path / "toy")
    commit = toy.git(repository, "rev-parse", "HEAD")
    source, index = tmp_path / "source", tmp_path / "index"
    for _ in range(2):
        tree = open_tree(str(repository), tmp_path / "cache", "own")
        assert isinstance(tree, Tree)
        revision = tree.resolve(commit)
        assert isinstance(revision, Revision)
        assert check_out(tree.mirror, revision, source, index, keep_free="build") is None
        assert prune_mirror(tmp_path / "cache", keep=0)
    assert (source / "Makefile").is_file()


def test_a_host_with_few_inodes_ends_the_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limits = JobLimits(free_disk=1, free_memory=0)
    assert limits.exceeded([tmp_path], 0) is None
    monkeypatch.setattr("cliffwatch_runner.worker.limits.is_short_of_inodes", lambda _: True)
    assert (
        str(limits.exceeded([tmp_path], 0))
        == f"hardly any inodes left on the disk of {tmp_path}: remove small files"
    )


def test_linux_is_far_below_the_limits() -> None:
    assert (LIMITS.entries, LIMITS.total_bytes) >= (3 * 95_000, 2 * 1_600_000_000)
