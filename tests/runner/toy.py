"""The toy tree and the stand-in guest, for tests of everything around a real kernel."""

import shutil
import subprocess
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from isolation_here import ISOLATION, leave_out_root

from cliffwatch.failure import Failure
from cliffwatch.formats.result_directory import Run, read_run
from cliffwatch_runner.build.toolchain import ToolChoice
from cliffwatch_runner.host import programs
from cliffwatch_runner.plan import shapes
from cliffwatch_runner.plan.request import RunRequest
from cliffwatch_runner.run import build, measure
from cliffwatch_runner.run import run as running

TESTS = Path(__file__).parents[1]
FAKELINUX = TESTS / "fakelinux"
FAKEVNG = TESTS / "fakevng"


class RecordedProgress:
    """A progress that remembers."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def begin(self, phase: str, detail: str = "") -> None:
        self.lines.append(f"{phase}: {detail}")

    def advance(self, fraction: float | None, detail: str = "") -> None:
        self.lines.append(detail)

    def end(self, detail: str) -> None:
        self.lines.append(detail)

    def note(self, text: str) -> None:
        self.lines.append(text)

    def close(self) -> None: ...


def play_guests(patched: pytest.MonkeyPatch) -> None:
    """Has guests played by tests/fakevng (see the fixture `stand_in`)."""
    patched.setattr(measure, "guest_programs", lambda: (FAKEVNG,))
    # Space and the free memory of this machine are no matter of a toy kernel.
    patched.setattr(build, "_NEEDED_BYTES", 0)
    # A shell has no thread for each CPU of a guest, so nothing is pinned.
    patched.setattr(shapes, "primary_threads", frozenset)
    assert programs.find_udev() is not None, "install udev: make packages"


def git(repository: Path, *arguments: str) -> str:
    name = ["-c", "user.name=Test", "-c", "user.email=test@localhost", "-c", "commit.gpgsign=false"]
    done = subprocess.run(
        ["git", "-C", str(repository), *name, *arguments], check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def toy_repository(folder: Path) -> Path:
    """The toy tree as a repository with one commit and the tag v6.12."""
    repository = folder / "linux"
    shutil.copytree(FAKELINUX, repository)
    git(repository, "init", "--quiet", "--initial-branch=master")
    git(repository, "add", "--all")
    git(repository, "commit", "--quiet", "--message", "Linux 6.12")
    git(repository, "tag", "v6.12")
    return repository


def change(repository: Path, file: str, text: str, subject: str) -> str:
    """Commits a new content of a file; returns the commit."""
    (repository / file).write_text(text)
    git(repository, "add", "--all")
    git(repository, "commit", "--quiet", "--message", subject)
    return git(repository, "rev-parse", "HEAD")


def request(repository: Path, folder: Path, **named: object) -> RunRequest:
    plain = RunRequest(
        tree=str(repository),
        tree_access="own",
        base="v6.12",
        head="HEAD",
        patch=None,
        suites=("local-storage",),
        profile="smoke",
        mode="icount",
        platform=None,
        boots=1,
        seed=1,
        bench_from="head",
        out=folder / "results",
        cache=folder / "cache",
        cache_size=5 << 30,
        tools=ToolChoice(cc=None, clang=None, pahole=None, build_image=None),
        fragments=(),
        jobs=2,
        cpus=None,
        memory_mib=None,
        pin=(),
        guest_root=None,
        isolation=ISOLATION,
        limits=(),
        trust="local",
        hang_after=60.0,
        notable=None,
        explain=None,
    )
    return replace(plain, **named)  # type: ignore[arg-type]


def run_toy(
    wanted: RunRequest, progress: RecordedProgress | None = None, stop: threading.Event | None = None
) -> Run | tuple[Failure, ...]:
    """Carries a request out with the stand-in guest (see the fixture `stand_in`), and reads what
    came of it.
    """
    leave_out_root()
    ended = running.run(wanted, progress or RecordedProgress(), stop or threading.Event())
    if isinstance(ended, tuple):
        return ended
    run = read_run(ended.folder)
    assert isinstance(run, Run), run
    return run
