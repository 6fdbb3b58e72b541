"""Boots the changed cases once more under perf. The profile explains a change; it is not a measurement."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from itertools import groupby
from pathlib import Path

from cliffwatch.catalogue.suite import PlannedCase
from cliffwatch.comparing.compare_run import compare_all, sides_of_run
from cliffwatch.counting import count_noun
from cliffwatch.failure import Failure
from cliffwatch.formats.code.profile import CaseProfile, ProfileRecord
from cliffwatch.formats.result_directory import read_run
from cliffwatch.samples import CaseKey, select_compared_arms
from cliffwatch_runner.guest.boot import boot_guest
from cliffwatch_runner.guest.profiling.host_counters import HostCounters
from cliffwatch_runner.guest.profiling.recording import Recording
from cliffwatch_runner.host.lock import host_lock
from cliffwatch_runner.host.tuning_rights import tune_as_allowed
from cliffwatch_runner.results.files import set_aside, write_document
from cliffwatch_runner.results.outcomes import case_name
from cliffwatch_runner.results.perf_output import case_profile
from cliffwatch_runner.run.built_run import BuiltRun
from cliffwatch_runner.run.measure import boot_order

PROFILE = "profile.json"
_HOME = "profile"
_MOST_CASES = 8
"""Each shape and arm costs a boot, and each case takes as long as when it was measured."""


def profile_changes(run: BuiltRun, folder: Path) -> Failure | None:
    """Profiles base and head of a complete run in the cases that changed most. Writes `folder`/profile.json.

    Does nothing if no case changed or the file exists. Fails if the host is locked. Raises OSError if the
    profile cannot be written.
    """
    changed = _changed_cases(folder)
    if (folder / PROFILE).exists() or not changed:
        return None
    with host_lock(
        run.mode,
        what=f"profile of {folder.name}",
        waiting=run.tools.progress.note,
        should_stop=run.tools.stop.is_set,
    ) as lock:
        if isinstance(lock, Failure):
            return None if run.tools.stop.is_set() else lock
        tuned = tune_as_allowed(frozenset(run.shape.pin), report=run.tools.progress.note)
        with nullcontext() if run.mode == "icount" else tuned:
            _record(run, folder, changed)
    return None


def _record(run: BuiltRun, folder: Path, changed: Sequence[CaseKey]) -> None:
    chosen = [each for each in enumerate(run.plan.cases) if each[1].key in changed[:_MOST_CASES]]
    run.tools.progress.begin("profile", f"{count_noun(len(chosen), 'case')} that changed, by perf")
    set_aside(folder / _HOME)
    profiles = [
        each
        for arm in select_compared_arms(run.kernels)
        for each in _of_arm(run, folder / _HOME / arm, arm, chosen)
    ]
    if run.tools.stop.is_set():
        run.tools.progress.end("interrupted")
        return
    left_out = max(0, len(changed) - _MOST_CASES)
    write_document(folder / PROFILE, ProfileRecord(cases=tuple(profiles), left_out=left_out))
    run.tools.progress.end(count_noun(len(profiles), "profile"))


def _changed_cases(folder: Path) -> list[CaseKey]:
    """Returns the planned cases with a changed row, largest change first."""
    run = read_run(folder)
    compared = () if isinstance(run, Failure) else compare_all(sides_of_run(run))
    rows = [] if isinstance(compared, Failure) else [row for each in compared for row in each.changed_rows()]
    return list(
        dict.fromkeys(row.case.planned for row in sorted(rows, key=lambda row: -abs(row.change or 0.0)))
    )


def _of_arm(
    run: BuiltRun, home: Path, arm: str, chosen: Sequence[tuple[int, PlannedCase]]
) -> Iterator[CaseProfile]:
    """Boots one guest for each shape that the cases need."""
    by_shape = sorted(chosen, key=lambda each: str(each[1].guest.params))
    for number, (_, group) in enumerate(groupby(by_shape, key=lambda each: each[1].guest.params), start=1):
        if run.tools.stop.is_set():
            return
        cases, folder = list(group), home / str(number)
        names: Mapping[str, PlannedCase] = {case_name(index, case): case for index, case in cases}
        (folder / "host").mkdir(parents=True)
        recording = Recording(
            warmups={name: case.warmup for name, case in names.items()},
            host=HostCounters(folder / "host", names),
        )
        order = boot_order(replace(run, counting={}), arm, cases, recording)
        end = boot_guest(order, folder, on_case=lambda _: None, should_stop=run.tools.stop.is_set)
        problem = (
            "" if end.status == "complete" else f"the guest ended as {end.status}: {end.evidence[-500:]}"
        )
        for name, case in names.items():
            yield case_profile(folder, name, case.key, arm, problem)
