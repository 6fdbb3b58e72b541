"""Measures a prepared run into its result directory, under the locks of that directory and of this host."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from cliffwatch.counting import count_noun
from cliffwatch.failure import Failure
from cliffwatch.formats.code.digests import CaseCode
from cliffwatch.formats.run_record import RunStatus
from cliffwatch.samples import CONTROL
from cliffwatch_runner import clock
from cliffwatch_runner.build.cache.entries import hold_lock
from cliffwatch_runner.build.cache.executed import Executed, join_executed
from cliffwatch_runner.host.lock import host_lock
from cliffwatch_runner.host.tuning_rights import tune_as_allowed
from cliffwatch_runner.plan.plan import Plan
from cliffwatch_runner.results.code_differences import write_code
from cliffwatch_runner.results.files import finished_boot, write_document
from cliffwatch_runner.results.folder import ResultFolder, choose_folder
from cliffwatch_runner.results.record import RunFacts, find_unreadable, identity, record
from cliffwatch_runner.run.arm_failures import arm_failures
from cliffwatch_runner.run.boot_progress import BootProgress
from cliffwatch_runner.run.measure import PlanExecution, guests_at_once, measure
from cliffwatch_runner.run.modes.confirm import further_boots
from cliffwatch_runner.run.prepared_run import PreparedRun
from cliffwatch_runner.run.profile import profile_changes
from cliffwatch_runner.run.unchanged_builds.case_code import code_of_arms, digests_of_cases
from cliffwatch_runner.run.unchanged_builds.executed import read_executed

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
        self, facts: RunFacts, status: RunStatus = "running", failures: Mapping[str, Failure] = _NO_FAILURES
    ) -> None:
        write_document(
            self.folder / "run.json", record(facts, created=self.created, status=status, failures=failures)
        )


def measure_run(run: PreparedRun) -> FinishedRun | tuple[Failure, ...]:
    """Measures a run.

    Locks a folder that the user named: an earlier run that was stopped may still write there.
    """
    if run.out is None:
        return _measure_in_folder(run)
    run.out.mkdir(parents=True, exist_ok=True)
    waiting = partial(run.progress.note, f"waiting for another run in {run.out} to end")
    with hold_lock(run.out / ".lock", waiting=waiting, should_stop=run.stop.is_set):
        return _measure_in_folder(run)


def _measure_in_folder(run: PreparedRun) -> FinishedRun | tuple[Failure, ...]:
    facts = run.facts
    folder = choose_folder(run.out, _folder_name(facts), identity(facts), reuse=run.reuse)
    if isinstance(folder, Failure):
        return (folder,)
    if folder.done:
        run.progress.note(f"{folder.path} already holds this run, complete; nothing is measured again")
        return _finish_with_profile(run, folder.path)
    if facts.plan.notable is None and folder.notable is not None:
        facts = replace(facts, plan=replace(facts.plan, notable=folder.notable))
    # A resumed run keeps the faults of the host that its earlier boots ran on.
    faults = tuple(dict.fromkeys((*folder.host_faults, *facts.host_faults)))
    run = replace(run, facts=replace(facts, host_faults=faults))
    written = _Record(folder.path, folder.created or clock.now().isoformat())
    odd = find_unreadable(record(run.facts, created=written.created, status="running", failures=_NO_FAILURES))
    if odd is not None:
        return (odd,)
    written.write(run.facts)
    _note_resumed(run, folder)
    measured = _measure_on_locked_host(run, written) if run.facts.plan.boots else run.facts
    if isinstance(measured, Failure):
        return (measured,)
    status: RunStatus = "incomplete" if run.stop.is_set() else "complete"
    if status == "complete":
        images = {name: kernel.folder for name, kernel in run.kernels.items()}
        cases = _code_of_cases(run, measured, folder.path)
        write_code(folder.path, images, cases, run.guest.sandbox, run.built, run.stop.is_set)
    if run.counts is not None and status == "complete":
        run.counts.keep(folder.path, measured)
    written.write(measured, status, arm_failures(folder.path, measured.arms))
    return _finish_with_profile(run, folder.path)


def _code_of_cases(run: PreparedRun, measured: RunFacts, folder: Path) -> Sequence[CaseCode]:
    """Returns digests of the code that the cases execute, including cases that were left out.

    Empty if no function counts are known, from this run or an earlier one.
    """
    counted_here = read_executed(folder)
    known = [each for each in (counted_here, run.executed) if isinstance(each, Executed)]
    if not known:
        return ()
    code = code_of_arms(measured, run.built, run.guest.sandbox, run.stop.is_set)
    cases = [*(case.key for case in measured.plan.cases), *(each.case for each in measured.left_out)]
    return digests_of_cases(code, join_executed(*known), dict.fromkeys(cases))


def _finish_with_profile(run: PreparedRun, folder: Path) -> FinishedRun | tuple[Failure, ...]:
    """Records the profile last, so that a failure in it loses no measurements."""
    if run.perf_profile and not run.stop.is_set():
        failure = profile_changes(run, folder)
        if failure is not None:
            return (failure,)
    return FinishedRun(folder=folder, interrupted=run.stop.is_set())


def _folder_name(facts: RunFacts) -> str:
    """Names the folder after the subjects of base and head, or after the arms if they have other names."""
    arms = {name: arm.subject for name, arm in facts.arms.items() if name != CONTROL}
    parts = [each.short for each in arms.values()] if set(arms) == {"base", "head"} else list(arms)
    return "-".join((*parts, facts.mode))


def _note_resumed(run: PreparedRun, folder: ResultFolder) -> None:
    if folder.resumed:
        boots = run.facts.plan.boots
        done = sum(finished_boot(folder.path, boot) for boot in boots)
        run.progress.note(
            f"resuming in {folder.path}: {done} of {count_noun(len(boots), 'boot is', 'boots are')} done"
        )


def _measure_on_locked_host(run: PreparedRun, written: _Record) -> RunFacts | Failure:
    """Measures under the host's lock.

    Returns the facts after measuring: the plan and the tuning may have grown.
    """
    facts = run.facts
    what = f"cliffwatch run, {facts.mode}, {written.folder.name}"
    with host_lock(facts.mode, what=what, waiting=run.progress.note, should_stop=run.stop.is_set) as lock:
        if isinstance(lock, Failure):
            return facts if run.stop.is_set() else lock
        if facts.mode == "icount":
            return _measure_stages(run, written)
        with tune_as_allowed(frozenset(facts.shape.pin), report=run.progress.note) as tuned:
            facts = replace(facts, host={**facts.host, "tuned": tuned.facts()})
            return _measure_stages(replace(run, facts=facts), written)


def _measure_stages(run: PreparedRun, written: _Record) -> RunFacts | Failure:
    """Runs the boots of the plan, then the boots that its stages add."""
    facts, progress, stop = run.facts, run.progress, run.stop
    cpus = max(case.guest.cpus or facts.shape.cpus for case in facts.plan.cases)
    at_once = guests_at_once(facts.mode, cpus)
    while True:
        plan = facts.plan
        written.write(facts)
        done = {boot.index for boot in plan.boots if finished_boot(written.folder, boot)}
        progress.begin("measure", _boots_text(plan))
        listener = BootProgress(plan, progress, done)
        failure = measure(
            PlanExecution(plan, run.guest, written.folder, listener, stop), run.kernels, at_once=at_once
        )
        if failure is not None:
            return failure
        progress.end("interrupted" if stop.is_set() else count_noun(len(plan.boots), "boot"))
        longer = None if stop.is_set() else further_boots(written.folder, plan)
        if longer is None:
            return facts
        facts = replace(facts, plan=longer)


def _boots_text(plan: Plan) -> str:
    confirming = [boot for boot in plan.boots if boot.stage == "confirm"]
    if not confirming:
        shapes = len({case.guest.params for case in plan.cases})
        how = "each" if shapes == 1 else f"in guests of {shapes} shapes"
        return f"{count_noun(len(plan.boots), 'boot')}, {count_noun(len(plan.cases), 'case')} {how}"
    return (
        f"{count_noun(len(confirming), 'more boot')} of {count_noun(len(confirming[-1].cases), 'open case')}"
    )
