"""Runs of users who are not alone on their host, and whose folders are not what a developer's are."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest
from ordinary_user import as_ordinary_user
from toy import TESTS, request, run_toy, toy_repository

from cliffwatch.failure import Failure
from cliffwatch.formats.result_directory import Run
from cliffwatch_runner.build.cache.uses import MARK
from cliffwatch_runner.command.failures import host_failure
from cliffwatch_runner.run import measure, prepare
from cliffwatch_runner.sandbox.isolation import find_path_problem

CLIFFWATCH = Path(sys.executable).parent / "cliffwatch"


def refused(
    repository: Path, folder: Path, *arguments: str, **env: str
) -> "subprocess.CompletedProcess[str]":
    """`cliffwatch run` without root's powers, in `folder`; it has to end before it builds anything."""
    argv = [
        str(CLIFFWATCH),
        "run",
        "--tree",
        str(repository),
        "--base",
        "v6.12",
        "--head",
        "HEAD",
        "--suite",
        "local-storage",
        "--mode",
        "icount",
    ]
    return subprocess.run(
        as_ordinary_user([*argv, *arguments]),
        cwd=folder,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_cache_of_another_user_is_usage_and_says_what_to_do(repository: Path, tmp_path: Path) -> None:
    cache = tmp_path / "theirs"
    cache.mkdir(mode=0o555)

    ended = refused(repository, tmp_path, "--cache", str(cache))

    assert ended.returncode == 2, ended.stderr
    assert f"the cache {cache} cannot be used" in ended.stderr
    assert "--cache" in ended.stderr.splitlines()[-1]
    assert "Traceback" not in ended.stderr


def test_a_part_of_the_cache_that_root_left_is_told_with_the_command_that_gives_it_back(
    repository: Path, tmp_path: Path
) -> None:
    """As after one `sudo cliffwatch run`."""
    cache = tmp_path / "cache"
    (cache / "locks").mkdir(parents=True)
    (cache / "locks").chmod(0o555)

    ended = refused(repository, tmp_path, "--cache", str(cache))

    assert ended.returncode == 2, ended.stderr
    assert f"{cache}/locks" in ended.stderr
    assert "sudo chown -R " in ended.stderr


def test_a_file_that_root_left_in_the_cache_is_told_too(repository: Path, tmp_path: Path) -> None:
    wanted = request(repository, tmp_path)
    (tmp_path / "cache").mkdir()
    lock = tmp_path / "cache" / "locks" / "1a2b3c"

    failure = host_failure(PermissionError(13, "Permission denied", str(lock)), wanted)

    assert failure.whose == "usage"
    assert str(lock) in failure.message
    assert failure.next_step.startswith("sudo chown -R ")


@pytest.mark.parametrize("place", ["cache", "cache/worktrees"])
def test_a_cache_whose_file_system_runs_no_programs_is_refused_before_anything_is_built(
    place: str, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else make fails at the first tool that it has built, and the kernel is blamed."""
    noexec = tmp_path / place
    noexec.mkdir(parents=True)
    real = os.statvfs

    def statvfs(path: Path) -> object:
        return SimpleNamespace(f_flag=os.ST_NOEXEC) if Path(path) == noexec else real(path)

    monkeypatch.setattr(os, "statvfs", statvfs)

    failures = run_toy(request(repository, tmp_path))

    assert isinstance(failures, tuple)
    assert [each.whose for each in failures] == ["usage"]
    assert (
        f"the cache {tmp_path}/cache is on a file system that runs no programs (noexec)"
        in failures[0].message
    )
    assert "--cache" in failures[0].next_step


@pytest.mark.skipif(shutil.which("unshare") is None or os.geteuid() != 0, reason="needs root to mount")
@pytest.mark.parametrize("command", ["run"])
def test_a_real_noexec_mount_is_seen(command: str, repository: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    script = f'mount -t tmpfs -o noexec none {tmp_path}/cache || exit 77; exec "$@"'
    words = [command, "--tree", repository, "--base", "v6.12", "--head", "HEAD"]
    argv = ["unshare", "-m", "sh", "-c", script, "sh", CLIFFWATCH, *words, "--cache", tmp_path / "cache"]
    ended = subprocess.run(
        [str(word) for word in argv], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    if ended.returncode in (77, 1):
        pytest.skip(f"this container lets root mount nothing: {ended.stderr}")

    assert ended.returncode == 2, ended.stderr
    assert f"sudo mount -o remount,exec {tmp_path}/cache" in ended.stderr


def test_a_home_that_may_only_be_read_asks_for_a_cache(repository: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o555)

    ended = refused(repository, tmp_path, HOME=str(home), XDG_CACHE_HOME="")

    assert ended.returncode == 2, ended.stderr
    assert f"the cache {home}/.cache/cliffwatch cannot be created: Permission denied" in ended.stderr
    assert "name a folder that you can write with --cache" in ended.stderr


@pytest.mark.parametrize(
    "arguments", [("--out", "shut/results"), ("--out", "file/results"), ("--out", "shut")]
)
def test_results_that_could_not_be_written_are_told_before_anything_is_built(
    repository: Path, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    (tmp_path / "shut").mkdir(mode=0o555)
    (tmp_path / "file").touch()

    ended = refused(repository, tmp_path, "--cache", str(tmp_path / "cache"), *arguments)

    assert ended.returncode == 2, ended.stderr
    assert "results cannot be written to" in ended.stderr
    assert "--out" in ended.stderr
    assert not (tmp_path / "cache" / "mirror.git").exists()


def test_a_working_folder_that_may_only_be_read_is_told_too(repository: Path, tmp_path: Path) -> None:
    folder = tmp_path / "here"
    folder.mkdir(mode=0o555)

    ended = refused(repository, folder, "--cache", str(tmp_path / "cache"))

    assert ended.returncode == 2, ended.stderr
    assert "results cannot be written to cliffwatch-results" in ended.stderr


def test_a_tree_that_may_not_be_read_is_usage(repository: Path, tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0)

    ended = refused(closed, tmp_path, "--cache", str(tmp_path / "cache"))

    assert ended.returncode == 2, ended.stderr
    assert f"you may not read the tree '{closed}'" in ended.stderr


@pytest.mark.namespaces
@pytest.mark.usefixtures("stand_in")
def test_spaces_in_every_path_are_no_matter_to_a_build_in_its_sandbox(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "with two  spaces: and a colon"
    (folder / "tmp").mkdir(parents=True)
    monkeypatch.setattr(tempfile, "tempdir", str(folder / "tmp"))

    assert isinstance(run_toy(request(toy_repository(folder), folder)), Run)


@pytest.mark.usefixtures("stand_in")
def test_without_a_sandbox_spaces_are_refused_before_anything_is_built(
    repository: Path, tmp_path: Path
) -> None:
    ended = run_toy(request(repository, tmp_path, cache=tmp_path / "my cache", isolation="none"))

    assert isinstance(ended, tuple)
    assert ended[0].whose == "host"
    assert "my cache" in ended[0].message
    assert "use bubblewrap" in ended[0].next_step
    assert not (tmp_path / "my cache" / "worktrees").exists()


@pytest.mark.usefixtures("stand_in")
@pytest.mark.parametrize("isolation", ["none", pytest.param("bubblewrap", marks=pytest.mark.namespaces)])
def test_results_may_lie_below_the_folder_where_a_run_begins(
    open_folder: Path, monkeypatch: pytest.MonkeyPatch, isolation: str
) -> None:
    monkeypatch.chdir(open_folder)
    monkeypatch.setattr(prepare, "guest_programs", vars(measure)["guest_programs"])

    ended = run_toy(
        request(toy_repository(open_folder), open_folder, out=Path("my-results"), isolation=isolation)
    )

    assert isinstance(ended, Run)
    assert [len(arm.boots[0].samples) > 0 for arm in ended.arms.values()] == [True, True]


def test_plain_paths_are_not_refused_anywhere() -> None:
    assert find_path_problem("none", (Path("/home/jörg/.cache/cliffwatch-2_a+b@c"),)) is None
    assert isinstance(find_path_problem("none", (Path("/home/a b"),)), Failure)
    assert find_path_problem("container", (Path("/home/a b"),)) is None


@pytest.mark.usefixtures("stand_in")
def test_what_a_guest_is_shown_does_not_depend_on_the_umask(repository: Path, tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        assert isinstance(run_toy(request(repository, tmp_path)), Run)
    finally:
        os.umask(before)

    entries = [*(tmp_path / "cache" / "kernels").iterdir(), *(tmp_path / "cache" / "benches").iterdir()]
    modes = {
        path.name: path.stat().st_mode & 0o777
        for entry in entries
        for path in (entry, *entry.iterdir())
        if path.name != MARK
    }
    programs = {"bench", "bench-empty-loop", "fixed_seed.so", *(entry.name for entry in entries)}
    assert {name for name, mode in modes.items() if mode == 0o755} == programs
    assert {mode for name, mode in modes.items() if name not in programs} == {0o644}


WITHOUT_ATTRIBUTES = """
import os, sys, threading
from pathlib import Path
folder = Path(sys.argv[1])
sys.path[:0] = sys.argv[2:]
try:
    os.setxattr(folder, "user.cliffwatch", b"1")
except OSError as error:
    print("no attributes here")
import toy
from cliffwatch_runner.run import build, measure
measure.guest_programs = lambda: (toy.FAKEVNG,)
build._NEEDED_BYTES = 0
print(type(toy.run_toy(toy.request(toy.toy_repository(folder), folder))).__name__)
"""


@pytest.mark.namespaces
def test_a_file_system_without_extended_attributes_will_do(tmp_path: Path) -> None:
    inside = 'mount -t ramfs none "$1" && exec "$2" -c "$3" "$1" "$4" "$5"'
    argv = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", inside, "sh", str(tmp_path)]
    argv += [sys.executable, WITHOUT_ATTRIBUTES, str(TESTS / "runner"), str(TESTS)]
    ended = subprocess.run(argv, capture_output=True, text=True, check=False)

    assert ended.stdout.splitlines() == ["no attributes here", "Run"], ended.stderr
