"""A worktree: a source tree and its build output, reused by one build after another."""

import tempfile
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from importlib.resources import files
from pathlib import Path

from cliffwatch.failure import Failure
from cliffwatch_runner import process
from cliffwatch_runner.build.cache.entries import Stopped, hold_lock
from cliffwatch_runner.build.cache.uses import Uses
from cliffwatch_runner.build.errors import EVIDENCE, failure_of
from cliffwatch_runner.sandbox.guard import guard_sandbox
from cliffwatch_runner.sandbox.limits import SandboxLimits
from cliffwatch_runner.sandbox.sandbox import HOME, Mount, Sandbox
from cliffwatch_runner.sandbox.untrusted_files import UntrustedFolder, remove_tree
from cliffwatch_runner.source.access import Trust
from cliffwatch_runner.source.revision import Revision, check_out, mentions
from cliffwatch_runner.source.tree import Tree

BUILD = ".cliffwatch"
"""The kernel's build output, directly below the source root, so that kbuild uses relative paths (srctree=..).
"""

DISTRUSTED = "distrusted"
"""Marks a worktree whose output must be removed before its next use."""

UNFINISHED = "unfinished"
"""Made before a command writes the output, removed once it has ended by itself."""

_SOURCE = Path("/cliffwatch/tree/src")
_CCACHE = Path("/cliffwatch/ccache")
_GIVEN = Path("/cliffwatch/given")

_SLACK_SECONDS = 60.0
_CLOCK_SLACK_SECONDS = 1.0
_COPY_SECONDS = 3600.0
_CCACHE_SIZE = "10G"
_COMPILER = "ccache.sh"
_PLAIN_CCACHE = 'exec ccache "$@"\n'
_LOG_BYTES = 16 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildSettings:
    """Settings that all builds of a run share."""

    cache: Path
    built: Path
    """Folder for everything that is built: the cache, or a folder of this run."""
    sandbox: Sandbox
    limits: SandboxLimits
    trust: Trust
    jobs: int
    """For make -j."""
    report_progress: Callable[[float | None, str], None]
    """Takes a fraction from 0 to 1 (None if unknown) and the name of the current step."""
    should_stop: Callable[[], bool]
    uses: Uses
    """Holds the cache entries that the run uses."""

    def hold_lock(self, digest: str, what: str) -> AbstractContextManager[None]:
        """Keeps other processes from making `what` (such as "kernel") of this digest. Raises Stopped."""
        waiting = partial(
            self.report_progress, None, f"waiting for another process that makes the same {what}"
        )
        return hold_lock(self.built / "locks" / digest, waiting=waiting, should_stop=self.should_stop)


class Worktree:
    """A worktree that this process has locked.

    `given` is a folder of the host's files for its builds to read.
    """

    def __init__(self, folder: Path, ccache: Path, given: Path, settings: BuildSettings) -> None:
        self.folder = folder
        self.settings = settings
        self.given_folder = given
        self._ccache = ccache
        self._source = folder / "source"
        self._scratch: Path | None = None
        self._unfinished = folder / UNFINISHED
        self._fixed = settings.sandbox.fixed_paths
        self.output = UntrustedFolder(folder / "output" if self._fixed else self._source / BUILD)

    @property
    def source(self) -> Path:
        """The source root as a build sees it."""
        return _SOURCE if self._fixed else self._scratch or self._source

    @property
    def build(self) -> Path:
        """The build output as a build sees it."""
        return self.source / BUILD

    def given(self, name: str) -> Path:
        """Returns the path of a file from the host as a build sees it."""
        return (_GIVEN if self._fixed else self.given_folder) / name

    def log(self, name: str) -> Path:
        """Returns the path of a log of this worktree, after deleting the old log."""
        path = self.folder / f"{name}.log"
        path.unlink(missing_ok=True)
        return path

    def check_out(self, tree: Tree, revision: Revision) -> Failure | None:
        """Checks a revision out and chooses how to call the compiler."""
        failure = check_out(tree.mirror, revision, self._source, self.folder / "index", keep_free=BUILD)
        if failure is None:
            self.open_output()
            script = (files("cliffwatch_runner.build") / "config" / "ccache.sh").read_text()
            headers_pull_in = mentions(tree.mirror, revision, "incbin", ("include", "arch/x86/include"))
            (self.given_folder / _COMPILER).write_text(_PLAIN_CCACHE if headers_pull_in else script)
            (self.given_folder / _COMPILER).chmod(0o644)
        return failure

    def open_output(self) -> None:
        """Creates the build output folder in the source, writable by builds."""
        (self._source / BUILD).mkdir(exist_ok=True)
        if not self._fixed:
            self.settings.sandbox.give(self._source / BUILD)

    def compiler(self, program: str) -> str:
        """Returns the command with which a Makefile calls a compiler through ccache."""
        return f"sh {self.given(_COMPILER)} {program}" if self._fixed else f"ccache {program}"

    def make(
        self,
        command: Sequence[str],
        log: Path,
        on_output: Callable[[str], None] | None = None,
        tools: Sequence[Mount] = (),
    ) -> Failure | None:
        """Runs a command in the worktree's sandbox.

        Returns a failure that says whose fault it is, or None. Raises Stopped.

        `tools` are folders with programs outside /usr that the command needs. If a tree writes into its own
        source, the command is repeated on a writable copy of the source, which is removed after this use.
        """
        self._remove_unfinished(log)
        self._unfinished.touch()
        done = self._run(command, log, on_output, tools)
        if self._writes_its_source(done):
            self._copy_source()
            done = self._run(command, log, on_output, tools)
        if not isinstance(done, Failure):
            self._unfinished.unlink()
        if isinstance(done, Failure):
            return replace(done, evidence=_tail(log))
        return None if done.ok else failure_of(_read_log(log, done))

    def ask(self, command: Sequence[str], *, seconds: float) -> process.Finished | Failure:
        """Runs a program that a build made, without write access to any file. Raises Stopped."""
        limits = replace(self.settings.limits, seconds=seconds)
        mounts = [Mount(source=mount.source, target=mount.target) for mount in self._mounts()]
        return self._finished(command, mounts, limits, jobs=1)

    def distrust_output(self) -> None:
        """Has the next use start with an empty output.

        A build may have put, say, a folder in a file's place, where it would block another tree's build.
        """
        (self.folder / DISTRUSTED).touch()

    def discard(self) -> None:
        """Removes the copy of the source, if there is one."""
        if self._scratch is not None:
            remove_tree(self._scratch)
            self._scratch = None

    def _remove_unfinished(self, log: Path) -> None:
        """Removes what a killed command wrote: make would take half a file for a whole one."""
        if not self._unfinished.exists():
            return
        began = self._unfinished.stat().st_mtime - _CLOCK_SLACK_SECONDS
        find = ["find", str(self.build), "-type", "f", "-newermt", f"@{began:.3f}", "-delete"]
        self._run(find, log, None, ())

    def _writes_its_source(self, done: process.Finished | Failure) -> bool:
        tried = not isinstance(done, Failure) and not done.ok and "Read-only file system" in done.output
        return tried and self._fixed and self._scratch is None

    def _run(
        self,
        command: Sequence[str],
        log: Path,
        on_output: Callable[[str], None] | None,
        tools: Sequence[Mount],
    ) -> process.Finished | Failure:
        return self._finished(
            command,
            [*self._mounts(), *tools],
            self.settings.limits,
            jobs=self.settings.jobs,
            log=process.Log(log, _LOG_BYTES),
            on_output=on_output,
        )

    def _finished(
        self,
        command: Sequence[str],
        mounts: Sequence[Mount],
        limits: SandboxLimits,
        *,
        jobs: int,
        log: process.Log | None = None,
        on_output: Callable[[str], None] | None = None,
    ) -> process.Finished | Failure:
        """Returns how a command ended in its sandbox, or the limit that it reached. Raises Stopped."""
        sandbox = self.settings.sandbox
        own = not sandbox.shares_session
        argv = sandbox.argv(
            command, env=self._environment(jobs), mounts=mounts, workdir=self.source, own_session=own
        )
        with guard_sandbox(
            limits, [mount.source for mount in mounts if mount.writable], user=sandbox.uid
        ) as guard:
            done = process.run(
                guard.argv(argv),
                env=sandbox.process_input(),
                deadline=limits.seconds + _SLACK_SECONDS,
                log=log,
                own_session=own,
                on_start=guard.begin,
                on_output=on_output,
                should_stop=lambda: self.settings.should_stop() or guard.should_stop(),
            )
            failure = guard.failure("the build")
        if failure is None and done.stopped:
            raise Stopped
        return done if failure is None else failure

    def _mounts(self) -> list[Mount]:
        return [
            Mount(source=self._scratch or self._source, target=_SOURCE, writable=self._scratch is not None),
            Mount(source=self.output.mount_source, target=_SOURCE / BUILD, writable=True),
            Mount(source=self._ccache, target=_CCACHE, writable=True),
            Mount(source=self.given_folder, target=_GIVEN),
        ]

    def _environment(self, jobs: int) -> dict[str, str]:
        """Returns the environment of a build.

        Fixed names and times make the image depend on its sources only.
        """
        sandbox = self.settings.sandbox
        return {
            **({} if sandbox.image is not None else {"PATH": sandbox.search_path}),
            "HOME": str(HOME),
            "LC_ALL": "C.UTF-8",
            "MAKEFLAGS": f"-j{jobs}",
            "KBUILD_BUILD_TIMESTAMP": "Thu Jan  1 00:00:00 UTC 1970",
            "KBUILD_BUILD_USER": "cliffwatch",
            "KBUILD_BUILD_HOST": "cliffwatch",
            "KBUILD_BUILD_VERSION": "1",
            "CCACHE_DIR": str(_CCACHE if self._fixed else self._ccache),
            "CCACHE_BASEDIR": str(self.source),
            "CCACHE_NOHASHDIR": "1",
            "CCACHE_MAXSIZE": _CCACHE_SIZE,
        }

    def _copy_source(self) -> None:
        self._scratch = Path(tempfile.mkdtemp(prefix="scratch-", dir=self.folder))
        copied = [
            "cp",
            "-a",
            "--reflink=auto",
            "--no-preserve=ownership",
            "--",
            f"{self._source}/.",
            str(self._scratch),
        ]
        done = process.run(copied, deadline=_COPY_SECONDS, should_stop=self.settings.should_stop)
        if done.stopped:
            raise Stopped
        if not done.ok:
            raise OSError(28, "the source cannot be copied", str(self._scratch))  # ENOSPC, in all likelihood
        user = self.settings.sandbox.user
        if user is not None:
            owner = f"{user.uid}:{user.gid}"
            process.run(
                ["chown", "-R", "--no-dereference", owner, str(self._scratch)], deadline=_COPY_SECONDS
            )


def _tail(log: Path) -> str:
    return log.read_text(errors="replace")[-EVIDENCE:] if log.exists() else ""


def _read_log(log: Path, done: process.Finished) -> str:
    """Returns the output of a failed build: its log, and the latest output if the log reached its limit."""
    text = log.read_text(errors="replace") if log.exists() else ""
    return text if len(text) < _LOG_BYTES // 2 else text + done.output
