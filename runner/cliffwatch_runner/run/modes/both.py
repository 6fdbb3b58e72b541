"""Runs both modes: icount first, then walltime for the cases in which icount shows no change."""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cliffwatch.catalogue.discovery import AUTO, DISCOVERED
from cliffwatch.catalogue.load import load_catalogue
from cliffwatch.comparing.compare_run import compare_all, sides_of_run
from cliffwatch.counting import count_noun
from cliffwatch.failure import Failure
from cliffwatch.formats.result_directory import Run, read_run
from cliffwatch.samples import CaseKey, Mode, select_compared_arms
from cliffwatch_runner.plan.request import RunRequest
from cliffwatch_runner.plan.run_plan import PlannedRun, plan_run
from cliffwatch_runner.run.modes.walltime_host import examine_host
from cliffwatch_runner.run.prepare import plan_checked
from cliffwatch_runner.run.progress import Progress
from cliffwatch_runner.run.run import run


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedModes:
    """A run in both modes."""

    folders: tuple[Path, ...]
    """Result directories, icount first.

    Walltime has none if no case was left for it or it was not reached.
    """

    interrupted: bool
    failures: tuple[Failure, ...] = ()
    """Failures of walltime. The icount results remain valid."""


def requests_of_modes(request: RunRequest) -> dict[Mode, RunRequest]:
    """Returns the request of each mode, before any result is known.

    Boots, platform, host CPUs and accelerator that the user named apply to walltime only.
    """
    counted, walltime = request.one_of_modes("icount"), request.one_of_modes("walltime")
    icount = replace(counted, boots=None, platform=None, pin=(), reuse=True)
    if request.out is not None:
        icount = replace(icount, out=request.out / "icount")
        walltime = replace(walltime, out=request.out / "walltime")
    return {"icount": icount, "walltime": walltime}


def run_both(
    request: RunRequest, progress: Progress, stop: threading.Event
) -> FinishedModes | tuple[Failure, ...]:
    """Measures in icount, then in walltime.

    Refuses a host without KVM, and what walltime cannot plan, before building anything. Raises what `run`
    raises.
    """
    host = examine_host(request)
    if isinstance(host, Failure):
        return (host,)
    requests = requests_of_modes(request)
    planned = plan_checked(requests["walltime"], progress)
    return planned if isinstance(planned, tuple) else _run_each(requests, progress, stop)


def _run_each(
    requests: Mapping[Mode, RunRequest], progress: Progress, stop: threading.Event
) -> FinishedModes | tuple[Failure, ...]:
    counted_run = run(requests["icount"], progress, stop)
    if isinstance(counted_run, tuple):
        return counted_run
    folder = counted_run.folder
    if counted_run.interrupted or stop.is_set():
        return FinishedModes(folders=(folder,), interrupted=True)
    timed = _left_for_walltime(requests["walltime"], folder, progress)
    if timed is None:
        return FinishedModes(folders=(folder,), interrupted=False)
    ended = run(timed, progress, stop)
    if isinstance(ended, tuple):
        return FinishedModes(folders=(folder,), interrupted=False, failures=ended)
    return FinishedModes(folders=(folder, ended.folder), interrupted=ended.interrupted)


def _left_for_walltime(request: RunRequest, folder: Path, progress: Progress) -> RunRequest | None:
    """Returns the walltime request for the cases that icount left open; None if there are none.

    Cases that the user named are always measured.
    """
    measured = read_run(folder)
    if isinstance(measured, Failure) or len(_compared(measured)) < 2:
        progress.note("walltime is not measured: icount compared nothing")
        return None
    answered = frozenset[CaseKey]() if request.cases else answered_by(measured)
    timed = replace(_with_suites_of(request, measured), answered=answered)
    planned = plan_run(timed)
    if isinstance(planned, PlannedRun) and not planned.plan.cases:
        progress.note("walltime is not measured: icount shows a change in every case")
        return None
    if answered:
        progress.note(
            f"not measured in walltime: {count_noun(len(answered), 'case')} in which icount shows a change"
        )
    return timed


def _with_suites_of(request: RunRequest, measured: Run) -> RunRequest:
    """Replaces `auto` by the suites that were measured: the counts of this run could select others."""
    if AUTO not in request.suites:
        return request
    known = {suite.name for suite in load_catalogue().suites} | {DISCOVERED}
    names = tuple(name for name in measured.record.suites if name in known)
    return replace(request, suites=names, chosen=measured.record.chosen)


def _compared(measured: Run) -> Sequence[str]:
    """Returns the compared arms that were measured."""
    return [name for name in select_compared_arms(measured.arms) if measured.arms[name].failure is None]


def answered_by(measured: Run) -> frozenset[CaseKey]:
    """Returns the planned cases in which every compared arm shows a change against the first one."""
    compared = compare_all(sides_of_run(measured))
    if isinstance(compared, Failure):
        return frozenset()
    changed = [frozenset(row.case.planned for row in each.changed_rows()) for each in compared]
    return frozenset.intersection(*changed)
