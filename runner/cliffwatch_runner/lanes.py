"""A lane: a worktree with its build output, in which one build after the other is made."""

import hashlib
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from cliffwatch_runner import process
from cliffwatch_runner.build_errors import first_error, is_full_disk, is_killed
from cliffwatch_runner.cache_entries import Stopped, locked
from cliffwatch_runner.cache_uses import MARK, Uses
from cliffwatch_runner.failure import Failure
from cliffwatch_runner.isolation import Level, Workshop, build_environment
from cliffwatch_runner.revision import Revision, check_out, mentions
from cliffwatch_runner.tree import Tree

BUILD = ".cliffwatch"
"""The kernel's build output, directly below the source root: kbuild then uses relative paths (srctree=..)."""

_DEADLINE_SECONDS = 3 * 3600.0
_CCACHE_SIZE = "10G"
_COMPILER = "ccache.sh"
_PLAIN_CCACHE = 'exec ccache "$@"\n'


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildSettings:
    """What all builds of a run have in common.

    `told` gets a share between 0 and 1 (or None) and what is being made; `uses` holds what the run takes from the cache.
    """

    cache: Path
    level: Level
    image: str | None
    jobs: int
    own_lane: str
    told: Callable[[float | None, str], None]
    should_stop: Callable[[], bool]
    uses: Uses


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """A lane that this process holds."""

    folder: Path
    workshop: Workshop
    settings: BuildSettings

    @property
    def source(self) -> Path:
        return self.folder / "src"

    def check_out(self, tree: Tree, revision: Revision) -> Failure | None:
        """Makes the lane hold a revision, with the way to compile it."""
        failure = check_out(tree.mirror, revision, self.source, self.folder / "index")
        if failure is None:
            script = (files("cliffwatch_runner") / "config" / "ccache.sh").read_text()
            headers_pull_in = mentions(tree.mirror, revision, "incbin", ("include", "arch/x86/include"))
            (self.workshop.given / _COMPILER).write_text(_PLAIN_CCACHE if headers_pull_in else script)
        return failure

    def compiler(self, program: str) -> str:
        """How a Makefile calls a compiler through ccache."""
        script = self.workshop.inside(self.workshop.given / _COMPILER)
        return f"sh {script} {program}" if self.workshop.fixed_paths else f"ccache {program}"

    def make(self, command: Sequence[str], log: Path, on_output: Callable[[str], None] | None = None) -> Failure | None:
        """Runs a command in the lane's isolation; what went wrong is sorted by whose fault it is. Raises Stopped."""
        home = self.workshop.inside(self.folder)
        env = build_environment(home, self.settings.jobs) | {
            "CCACHE_DIR": str(self.workshop.inside(self.workshop.ccache)),
            "CCACHE_BASEDIR": str(self.workshop.inside(self.source)),
            "CCACHE_NOHASHDIR": "1",
            "CCACHE_MAXSIZE": _CCACHE_SIZE,
        }
        done = process.run(
            self.workshop.argv(command, env),
            deadline=_DEADLINE_SECONDS,
            log=process.Log(log),
            on_output=on_output,
            should_stop=self.settings.should_stop,
        )
        if done.stopped:
            raise Stopped
        if done.ok:
            return None
        return failure_of(log.read_text(errors="replace"), timed_out=done.timed_out)


def failure_of(log: str, *, timed_out: bool = False) -> Failure:
    """A failed build's failure: the disk's, the machine's, or the tree's."""
    if is_full_disk(log):
        return Failure(
            whose="host",
            message="the disk is full",
            next_step="make room, or name another cache with --cache",
            evidence=log[-1000:],
        )
    if timed_out:
        return Failure(
            whose="host",
            message="the build did not end within three hours",
            next_step="use more CPUs (--jobs)",
            evidence=log[-1000:],
        )
    if is_killed(log):
        return Failure(
            whose="host",
            message="the compiler was killed",
            next_step="the machine is short of memory: use fewer --jobs",
            evidence=log[-1000:],
        )
    return Failure(
        whose="kernel", message="it does not build", next_step="mend the tree", evidence=first_error(log)[:6000]
    )


@contextmanager
def held_lane(name: str, settings: BuildSettings, given: Path) -> Iterator[Lane]:
    """Holds the lane of that name; waits, and says so, while another process builds in it. Raises Stopped."""
    digest = hashlib.sha256(f"{name}\0{settings.own_lane}".encode()).hexdigest()[:16]
    folder = settings.cache / "lanes" / digest
    folder.mkdir(parents=True, exist_ok=True)
    ccache = settings.cache / ("ccache" if not settings.own_lane else f"lanes/{digest}/ccache")
    settings.uses.take(ccache, make=True)

    def waiting() -> None:
        settings.told(None, "waiting for another build in the same lane")

    with locked(folder / "lock", waiting=waiting, should_stop=settings.should_stop):
        (folder / MARK).touch()
        (folder / "src").mkdir(exist_ok=True)
        try:
            level: Level = "container" if settings.image else settings.level
            workshop = Workshop(level=level, lane=folder, ccache=ccache, given=given, image=settings.image)
            yield Lane(folder=folder, workshop=workshop, settings=settings)
        finally:
            if settings.own_lane:
                shutil.rmtree(folder / "src", ignore_errors=True)
                shutil.rmtree(ccache, ignore_errors=True)


def free_bytes(path: Path) -> int:
    about = os.statvfs(path)
    return about.f_bavail * about.f_frsize
