"""Carries out a run, from request to result directory."""

import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from cliffwatch.counting import count_noun, size_text
from cliffwatch.failure import Failure
from cliffwatch.formats.code.digests import CaseCode
from cliffwatch.formats.run_record import RunStatus
from cliffwatch_runner import clock
from cliffwatch_runner.build.cache.entries import Stopped, hold_lock
from cliffwatch_runner.build.cache.executed import Executed, join_executed
from cliffwatch_runner.build.cache.pruning import prune_built, prune_mirror
from cliffwatch_runner.build.cache.uses import cache_uses
from cliffwatch_runner.build.worktree_pool import build_folder
from cliffwatch_runner.host.lock import host_lock
from cliffwatch_runner.host.tuning_rights import tune_as_allowed
from cliffwatch_runner.plan.plan import Plan
from cliffwatch_runner.plan.request import RunRequest
from cliffwatch_runner.plan.run_plan import PlannedRun
from cliffwatch_runner.plan.writable_folders import (
    RESULTS_HOME,
    check_programs_run,
    check_results,
    open_cache,
)
from cliffwatch_runner.results.code_differences import write_code
from cliffwatch_runner.results.files import finished_boot, write_document
from cliffwatch_runner.results.folder import ResultFolder, choose_folder
from cliffwatch_runner.run.arm_failures import arm_failures
from cliffwatch_runner.run.built_run import BuiltRun
from cliffwatch_runner.run.layouts import link_layouts
from cliffwatch_runner.run.measure import measure
from cliffwatch_runner.run.modes.confirm import further_boots
from cliffwatch_runner.run.modes.timed import boots_in_time
from cliffwatch_runner.run.prepare import plan_with_progress, prepare_run
from cliffwatch_runner.run.profile import profile_changes
from cliffwatch_runner.run.progress import Progress
from cliffwatch_runner.run.record import find_unreadable, identity, record
from cliffwatch_runner.run.unchanged_builds.case_code import code_of_arms, digests_of_cases
from cliffwatch_runner.run.unchanged_builds.executed import read_executed
from cliffwatch_runner.run.unchanged_builds.leaving_out import keep_counts

_NO_FAILURES: Mapping[str, Failure] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedRun:
    """A run that completed or was interrupted."""

    folder: Path
    """The result directory."""

    interrupted: bool


@dataclass(frozen=True, slots=True)
class _Record:
    """Writes run.json."""

    folder: Path
    created: str
    """When the run began, ISO 8601."""

    def write(
        self, run: BuiltRun, status: RunStatus = "running", failures: Mapping[str, Failure] = _NO_FAILURES
    ) -> None:
        write_document(
            self.folder / "run.json", record(run, created=self.created, status=status, failures=failures)
        )


def run(
    request: RunRequest, progress: Progress, stop: threading.Event, *, needed: str | None = None
) -> FinishedRun | tuple[Failure, ...]:
    """Carries out a request.

    If the arm `needed` does not build, nothing is booted; without `needed`, the other arms are measured.
    Raises Stopped if interrupted before the first boot, OSError on a full disk.
    """
    unwritable = _unwritable_folder(request)
    if unwritable is not None:
        return (unwritable,)
    with suppress(OSError):
        prune_mirror(request.cache)
    with cache_uses() as uses, build_folder(request.cache, request.trust, stop.is_set) as built:
        uses.take(request.cache / "mirror.git", make=True)
        prepared = prepare_run(request, progress, stop, uses, built)
        if isinstance(prepared, BuiltRun) and needed is not None:
            kernel = prepared.arms[needed].kernel
            prepared = (kernel,) if isinstance(kernel, Failure) else prepared
        finished = _measure_run(prepared) if isinstance(prepared, BuiltRun) else prepared
        _prune(request, progress)
    return finished


def plan_only(request: RunRequest, progress: Progress) -> PlannedRun | tuple[Failure, ...]:
    """Plans a run without building."""
    unwritable = _unwritable_folder(request)
    return (unwritable,) if unwritable is not None else plan_with_progress(request, progress)


def _unwritable_folder(request: RunRequest) -> Failure | None:
    return (
        open_cache(request.cache)
        or check_programs_run(request.cache)
        or check_results(request.out or RESULTS_HOME)
    )


def _prune(request: RunRequest, progress: Progress) -> None:
    """Makes room in the cache while the run still holds the entries that it uses."""
    with suppress(OSError):  # the results are complete without it
        pruned = prune_built(request.cache, request.cache_size, clock.now())
        if not pruned.removed:
            return
        one, several = "kernel, bench, program or guest root", "kernels, benches, programs and guest roots"
        what = f"{count_noun(len(pruned.removed), one, several)}, {size_text(pruned.bytes)}"
        progress.note(f"removed from the cache, least recently used first: {what} (see `cliffwatch cache`)")


def _measure_run(run: BuiltRun) -> FinishedRun | tuple[Failure, ...]:
    """Measures a run.

    Locks a folder that the user named: an earlier run that was stopped may still write there.
    """
    if run.request.out is None:
        return _measure_in_folder(run)
    run.request.out.mkdir(parents=True, exist_ok=True)
    waiting = partial(run.tools.progress.note, f"waiting for another run in {run.request.out} to end")
    with hold_lock(run.request.out / ".lock", waiting=waiting, should_stop=run.tools.stop.is_set):
        return _measure_in_folder(run)


def _measure_in_folder(run: BuiltRun) -> FinishedRun | tuple[Failure, ...]:
    request, stop = run.request, run.tools.stop
    folder = choose_folder(request.out, _folder_name(run), identity(run), reuse=request.reuse)
    if isinstance(folder, Failure):
        return (folder,)
    if folder.done:
        run.tools.progress.note(f"{folder.path} already holds this run, complete; nothing is measured again")
        return _finish_with_profile(run, folder.path)
    if run.plan.notable is None and folder.notable is not None:
        run = replace(run, plan=replace(run.plan, notable=folder.notable))
    # A resumed run keeps the faults of the host that its earlier boots ran on.
    run = replace(run, host_faults=tuple(dict.fromkeys((*folder.host_faults, *run.host_faults))))
    if folder.resumed:  # what it linked then is in the cache now, and has taken its time
        run = replace(run, links=folder.links)
    written = _Record(folder.path, folder.created or clock.now().isoformat())
    odd = find_unreadable(record(run, created=written.created, status="running", failures=_NO_FAILURES))
    if odd is not None:
        return (odd,)
    written.write(run)
    _note_resumed(run, folder)
    measured = _measure_on_locked_host(run, written) if run.plan.boots else run
    if isinstance(measured, Failure):
        return (measured,)
    status: RunStatus = "incomplete" if stop.is_set() else "complete"
    if status == "complete":
        images = {name: kernel.folder for name, kernel in measured.kernels.items()}
        cases, tools = _code_of_cases(measured, folder.path), measured.tools
        write_code(
            folder.path,
            images,
            cases,
            tools.guest_sandbox,
            tools.settings.built,
            stop.is_set,
            releases=request.releases,
        )
    if measured.counting and status == "complete":
        keep_counts(measured, folder.path)
    written.write(measured, status, arm_failures(folder.path, measured.arms))
    return _finish_with_profile(run, folder.path)


def _code_of_cases(run: BuiltRun, folder: Path) -> Sequence[CaseCode]:
    """Returns digests of the code that the cases execute, including cases that were left out.

    Empty if no function counts are known, from this run or an earlier one.
    """
    counted_here = read_executed(folder)
    known = [each for each in (counted_here, run.executed) if isinstance(each, Executed)]
    if not known:
        return ()
    code = code_of_arms(run)
    cases = [*(case.key for case in run.plan.cases), *(each.case for each in run.left_out)]
    return digests_of_cases(code, join_executed(*known), dict.fromkeys(cases))


def _finish_with_profile(run: BuiltRun, folder: Path) -> FinishedRun | tuple[Failure, ...]:
    """Records the profile last, so that a failure in it loses no measurements."""
    if run.request.perf_profile and not run.tools.stop.is_set():
        failure = profile_changes(run, folder)
        if failure is not None:
            return (failure,)
    return FinishedRun(folder=folder, interrupted=run.tools.stop.is_set())


def _folder_name(run: BuiltRun) -> str:
    """Names the folder after the subjects of base and head, or after the arms if they have other names."""
    arms = {subject.arm: subject.short for subject in run.subjects}
    return "-".join((*(arms.values() if set(arms) == {"base", "head"} else arms), run.mode))


def _note_resumed(run: BuiltRun, folder: ResultFolder) -> None:
    if folder.resumed:
        boots = run.plan.boots
        done = sum(finished_boot(folder.path, boot) for boot in boots)
        run.tools.progress.note(
            f"resuming in {folder.path}: {done} of {count_noun(len(boots), 'boot is', 'boots are')} done"
        )


def _measure_on_locked_host(run: BuiltRun, written: _Record) -> BuiltRun | Failure:
    """Measures under the host's lock.

    Returns the run after measuring: the plan and the tuning may have grown.
    """
    what, tools = f"cliffwatch run, {run.mode}, {written.folder.name}", run.tools
    with host_lock(run.mode, what=what, waiting=tools.progress.note, should_stop=tools.stop.is_set) as lock:
        if isinstance(lock, Failure):
            return run if tools.stop.is_set() else lock
        if run.mode == "icount":
            return _measure_stages(run, written)
        with tune_as_allowed(frozenset(run.shape.pin), report=tools.progress.note) as tuned:
            return _measure_stages(replace(run, host={**run.host, "tuned": tuned.facts()}), written)


def _measure_stages(run: BuiltRun, written: _Record) -> BuiltRun | Failure:
    """Runs the boots of the plan, then the boots that its stages add."""
    progress, stop = run.tools.progress, run.tools.stop
    while True:
        written.write(run)
        progress.begin("measure", _boots_text(run.plan))
        failure = measure(run, written.folder)
        if failure is not None:
            return failure
        progress.end("interrupted" if stop.is_set() else count_noun(len(run.plan.boots), "boot"))
        longer = None if stop.is_set() else _with_further_boots(run, written.folder)
        if longer is None:
            return run
        began = clock.monotonic()
        try:
            linked = link_layouts(longer)
        except Stopped:
            return run
        if isinstance(linked, Failure):
            return linked
        took = clock.monotonic() - began
        run = replace(linked, linking_seconds=linked.linking_seconds + took)


def _with_further_boots(run: BuiltRun, folder: Path) -> BuiltRun | None:
    """Returns the run with the boots of its next stage; None if it needs none."""
    if run.plan.budget is None:
        longer = further_boots(folder, run.plan)
        return None if longer is None else replace(run, plan=longer)
    filled = boots_in_time(run, folder)
    if filled is None:
        return None
    for note in filled.notes:
        run.tools.progress.note(note)
    return replace(run, plan=filled.plan, notes=(*run.notes, *filled.notes))


def _boots_text(plan: Plan) -> str:
    confirming = [boot for boot in plan.boots if boot.stage == "confirm"]
    if not confirming:
        shapes = len({case.guest.params for case in plan.cases})
        how = "each" if shapes == 1 else f"in guests of {shapes} shapes"
        return f"{count_noun(len(plan.boots), 'boot')}, {count_noun(len(plan.cases), 'case')} {how}"
    return (
        f"{count_noun(len(confirming), 'more boot')} of {count_noun(len(confirming[-1].cases), 'open case')}"
    )
