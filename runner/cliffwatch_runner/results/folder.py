"""Chooses the result directory: a new one, or that of an interrupted run to resume."""

from dataclasses import dataclass
from pathlib import Path

from cliffwatch.failure import Failure, wrong_usage
from cliffwatch.formats.result_directory import Run, read_run
from cliffwatch_runner.plan.writable_folders import RESULTS_HOME


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultFolder:
    """A result directory, new or with an earlier part of the same run."""

    path: Path
    done: bool
    """True if it holds this run, complete."""

    resumed: bool
    """True if it holds at least a part of this run."""

    created: str | None = None
    """When that run began; None for a new one."""

    notable: float | None = None
    """Threshold that the run was given; None for the defaults."""

    host_faults: tuple[str, ...] = ()
    """Faults of the host on which the run began."""

    links: tuple[float, ...] = ()
    """Seconds of the links that the run made before its first boot."""


def choose_folder(
    out: Path | None, name: str, identity: str, *, reuse: bool = False
) -> ResultFolder | Failure:
    """Returns the folder that the user named, or the next free one under `cliffwatch-results`.

    With `reuse`, a folder that holds this run complete is returned, too.
    """
    if out is not None:
        return _named(out, identity)
    number = 1
    while True:
        path = RESULTS_HOME / (name if number == 1 else f"{name}-{number}")
        if not (path / "run.json").exists():
            return ResultFolder(path=path, done=False, resumed=False)
        run = read_run(path)
        ours = not isinstance(run, Failure) and run.record.identity == identity
        complete = not isinstance(run, Failure) and run.complete
        if ours and not isinstance(run, Failure) and (reuse or not complete):
            return _resumed(path, run, done=complete)
        number += 1


def _named(out: Path, identity: str) -> ResultFolder | Failure:
    if not (out / "run.json").exists():
        return ResultFolder(path=out, done=False, resumed=False)
    run = read_run(out)
    if isinstance(run, Failure):
        return wrong_usage(run.message, "name another folder with --out")
    if run.record.identity != identity:
        return wrong_usage(
            f"{out} holds another run (other revisions, cases, plan, tools or guest)",
            "name another folder with --out",
        )
    return _resumed(out, run, done=run.complete)


def _resumed(path: Path, run: Run, *, done: bool) -> ResultFolder:
    record = run.record
    return ResultFolder(
        path=path,
        done=done,
        resumed=True,
        created=record.created,
        notable=record.plan.notable,
        host_faults=record.host_faults,
        links=record.links,
    )
