"""Chooses the result directory: a new one, or that of an interrupted run that goes on."""

from dataclasses import dataclass
from pathlib import Path

from cliffwatch.failure import Failure
from cliffwatch.formats.result_directory import Run, read_run
from cliffwatch_runner.plan.writable_folders import RESULTS_HOME


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultFolder:
    """`done` means that the folder holds this very run, complete; `resumed` that it holds a part of it.

    `created` is when that run began, None for a new one: a run that goes on is the same run. `notable` is the threshold that it
    was given, None for the defaults; `host_faults` are those that it had on the host where it began.
    """

    path: Path
    done: bool
    resumed: bool
    created: str | None = None
    notable: float | None = None
    host_faults: tuple[str, ...] = ()


def choose_folder(
    out: Path | None, name: str, identity: str, *, reuse: bool = False
) -> ResultFolder | Failure:
    """The folder that the user named, else the next free one of this name under `cliffwatch-results`; with `reuse` one that holds this very
    run, complete.
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
        complete = not isinstance(run, Failure) and run.record.status == "complete"
        if ours and not isinstance(run, Failure) and (reuse or not complete):
            return _resumed(path, run, done=complete)
        number += 1


def _named(out: Path, identity: str) -> ResultFolder | Failure:
    if not (out / "run.json").exists():
        return ResultFolder(path=out, done=False, resumed=False)
    run = read_run(out)
    if isinstance(run, Failure):
        return Failure(whose="usage", message=run.message, next_step="name another folder with --out")
    if run.record.identity != identity:
        return Failure(
            whose="usage",
            message=f"{out} holds another run (other revisions, cases, plan, tools or guest)",
            next_step="name another folder with --out",
        )
    return _resumed(out, run, done=run.record.status == "complete")


def _resumed(path: Path, run: Run, *, done: bool) -> ResultFolder:
    record = run.record
    return ResultFolder(
        path=path,
        done=done,
        resumed=True,
        created=record.created,
        notable=record.plan.notable,
        host_faults=record.host_faults,
    )
