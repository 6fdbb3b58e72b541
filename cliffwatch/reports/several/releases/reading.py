"""Reads the folder of `cliffwatch releases` into an audit."""

import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from cliffwatch.comparing.attribution.changes import Functions
from cliffwatch.comparing.attribution.run import code_of_run, functions_of_run
from cliffwatch.comparing.compare_run import Sides, compare_run
from cliffwatch.comparing.comparison import ComparisonSet
from cliffwatch.failure import Failure
from cliffwatch.formats.comparison import ComparisonRow
from cliffwatch.formats.releases_record import ReleasesRecord, SuiteRunRecord
from cliffwatch.formats.result_directory import Run
from cliffwatch.formats.verdicts import Sweep
from cliffwatch.reports.several.releases.audit import Audit, AuditRow, Cell, Release, Step, SuiteAudit
from cliffwatch.reports.several.releases.failures import tell_failures, with_errors
from cliffwatch.reports.several.releases.folder import find_unread_code, read_record, read_suite_run
from cliffwatch.samples import Arm, CaseKey

Key = tuple[CaseKey, str, str]
"""A row of a table: case, metric and unit."""


def read_audit(folder: Path) -> Audit | Failure:
    """Reads every finished run of a folder. A failure if one of them cannot be read whole."""
    record = read_record(folder)
    if isinstance(record, Failure):
        return record
    runs: list[tuple[SuiteRunRecord, Run]] = []
    for about in record.runs:
        run = read_suite_run(folder, about)
        if isinstance(run, Failure):
            return replace(run, next_step=f"{run.next_step}; the report is as it was")
        runs.append((about, run))
    names = [each.name for each in record.releases]
    tried = {each.suite for each in record.runs} | {each.suite for each in record.failures}
    suites = tuple(_suite(suite, names, record, runs) for suite in record.suites if suite in tried)
    return Audit(
        releases=tuple(_release(each.name, each.version, each.commit, runs) for each in record.releases),
        suites=suites,
        profile=record.profile,
        created=record.created,
        setting=_setting([run for _, run in runs]),
        notes=_missing_suites(record, runs),
    )


def _missing_suites(record: ReleasesRecord, runs: Sequence[tuple[SuiteRunRecord, Run]]) -> tuple[str, ...]:
    measured = {about.suite for about, _ in runs}
    failed = {failure.suite: f"{failure.suite}: {failure.message}" for failure in reversed(record.failures)}
    lacking = [suite for suite in record.suites if suite not in measured]
    open_ones = [suite for suite in lacking if suite not in failed]
    return (
        *(f"Not measured: {failed[suite]}." for suite in lacking if suite in failed),
        *((f"Not measured yet: {', '.join(open_ones)}.",) if open_ones else ()),
    )


def _release(name: str, version: str, commit: str, runs: Iterable[tuple[SuiteRunRecord, Run]]) -> Release:
    notes: dict[str, None] = {}
    sections: dict[str, int] = {}
    for _, run in runs:
        arm = run.record.arm_by_name.get(name)
        notes.update(dict.fromkeys(arm.config_notes if arm is not None else ()))
        if not sections and arm is not None:
            sections = _sections(name, run)
    return Release(
        name=name, version=version, commit=commit, sections=sections, config_notes=tuple(sorted(notes))
    )


def _sections(name: str, run: Run) -> dict[str, int]:
    """Sizes of a release's image: the first arm's are those that the others were compared with."""
    code = code_of_run(run.path)
    for image in code.arms if code is not None else ():
        side = "head" if image.arm == name else "base" if run.record.arms[0].name == name else ""
        sizes = {each.name: getattr(each, side) for each in image.sections} if side else {}
        if sizes:
            return {part: size for part, size in sizes.items() if size is not None}
    return {}


def _setting(runs: Sequence[Run]) -> tuple[str, ...]:
    """Versions of Cliffwatch and of the compilers, and the platform: of all runs, equal ones once."""
    records = [run.record for run in runs]
    tools = [record.toolchain_facts for record in records]
    texts = (
        *(f"Cliffwatch {record.cliffwatch_version}" for record in records),
        *(each.gcc for each in tools),
        *(each.clang for each in tools),
        *(each.bpf_clang for each in tools),
        *(f"pahole {each.pahole}" for each in tools if each.pahole),
        *(record.platform for record in records),
    )
    return tuple(dict.fromkeys(text.splitlines()[0] for text in texts if text))


def _suite(
    name: str, releases: Sequence[str], record: ReleasesRecord, all_runs: Sequence[tuple[SuiteRunRecord, Run]]
) -> SuiteAudit:
    runs = [each for each in all_runs if each[0].suite == name]
    rows: list[AuditRow] = []
    sweeps: list[tuple[str, str, Sweep]] = []
    shared = [(about, run) for about, run in runs if not about.own]
    failures = [each for each in record.failures if each.suite == name]
    failed = dict.fromkeys(tell_failures(failures, shared[0][1] if shared else None))
    for about, run in shared:
        compared = dict(_compared(run, releases, failed))
        rows += _rows(about.bench, releases, {each: run.arms.get(each) for each in releases}, compared)
        sweeps += [
            (*pair, sweep) for pair, (each, _) in compared.items() for sweep in each.sweeps if sweep.differs
        ]
    own = {about.bench: run.arms.get(about.bench) for about, run in runs if about.own}
    rows += _rows(None, releases, {each: own.get(each) for each in releases}, {})
    measured = {row.case.planned for row in rows}
    empty = [each for _, run in shared for each in _empty_cases(run, releases) if each[0] not in measured]
    for _, run in runs:
        failed |= dict.fromkeys(filter(None, (find_unread_code(run),)))
        for arm in run.record.arms:
            if arm.failure is not None:
                failed[f"{arm.name}: {with_errors(arm.failure.message, arm.failure.evidence)}"] = None
    rows.sort(key=lambda row: -(row.largest.size if row.largest is not None else 0.0))
    return SuiteAudit(
        name=name,
        rows=tuple(rows),
        empty_cases=tuple(empty),
        sweeps=tuple(sweeps),
        notes=tuple(failed),
        seconds=sum(about.seconds for about, _ in runs),
    )


def _empty_cases(run: Run, releases: Sequence[str]) -> Iterator[tuple[CaseKey, tuple[Cell, ...]]]:
    """Cases that the run did not measure, in the plan's order, and those that it left out."""
    left_out = {each.case: each.reason or each.status for each in run.record.left_out}
    arms = [run.arms.get(name) for name in releases]
    reasons = [left_out if arm is None else left_out | dict(_reasons(arm)) for arm in arms]
    for case in dict.fromkeys((*(each.case for each in run.record.plan.cases), *left_out)):
        if any(case in each for each in reasons):
            yield case, tuple(Cell(value=None, reason=each.get(case, "not measured")) for each in reasons)


Compared = Mapping[tuple[str, str], tuple[ComparisonSet, Functions]]
"""By earlier and later release."""


def _compared(
    run: Run, releases: Sequence[str], failed: dict[str, None]
) -> Iterator[tuple[tuple[str, str], tuple[ComparisonSet, Functions]]]:
    """Compares each release with the one before it. Adds to `failed` what cannot be compared."""
    measured = [each for each in releases if each in run.arms and run.arms[each].boots]
    code = code_of_run(run.path)
    first = {each.arm: each for each in code.arms} if code is not None else {}
    steps = {each.arm: each for each in code.steps} if code is not None else {}
    for earlier, later in pairwise(measured):
        sides = Sides(
            base=_as_release(run.arms[earlier]),
            head=_as_release(run.arms[later]),
            stages=run.stages,
            notable=run.record.plan.notable,
            one_run=True,
        )
        compared = compare_run(sides)
        if isinstance(compared, Failure):
            failed[f"{earlier} to {later}: {compared.message}"] = None
            continue
        images = first if earlier == run.record.arms[0].name else steps
        yield (earlier, later), (compared, functions_of_run(run.path, [compared], images))


def _as_release(arm: Arm) -> Arm:
    """The arm with its configuration allowed to differ: each release has of ours what it knows."""
    return replace(arm, meant=arm.meant | {"config"})


def _rows(
    bench: str | None, releases: Sequence[str], arms: Mapping[str, Arm | None], compared: Compared
) -> Iterator[AuditRow]:
    values = {name: _values(arm) for name, arm in arms.items() if arm is not None}
    reasons = {name: _reasons(arm) for name, arm in arms.items() if arm is not None}
    untried = "" if bench is None else "not measured"  # an own bench is tried where the shared one fails
    steps: dict[Key, dict[str, Step]] = {}
    for (earlier, later), (each, functions) in compared.items():
        for row in each.primary_rows():
            found = functions.get((each.head.name, (row.case, row.metric)))
            steps.setdefault(_key(row), {})[later] = Step(
                earlier=earlier, later=later, row=row, functions=found
            )
    for key in dict.fromkeys(key for column in values.values() for key in column):
        case, metric, unit = key
        yield AuditRow(
            case=case,
            metric=metric,
            unit=unit,
            bench=bench,
            cells=tuple(
                Cell(
                    value=values.get(name, {}).get(key),
                    reason=""
                    if key in values.get(name, {})
                    else reasons.get(name, {}).get(case.planned, untried),
                )
                for name in releases
            ),
            steps=tuple(steps.get(key, {}).get(name) for name in releases[1:]),
        )


def _key(row: ComparisonRow) -> Key:
    return row.case, row.metric, row.unit


def _values(arm: Arm) -> dict[Key, float]:
    """Medians over the boots, of primary metrics."""
    traits = Sides(base=arm, head=arm).traits()
    found: dict[Key, list[float]] = {}
    for boot in arm.boots:
        for sample in boot.samples:
            found.setdefault((sample.case, sample.metric, sample.unit), []).append(sample.value)
    return {
        (case, metric, unit): statistics.median(numbers)
        for (case, metric, unit), numbers in found.items()
        if traits(case, metric, unit, arm.mode).primary
    }


def _reasons(arm: Arm) -> dict[CaseKey, str]:
    """Why cases have no value, by the case of the plan."""
    return {
        outcome.case.planned: outcome.reason or outcome.status
        for boot in arm.boots
        for outcome in boot.outcomes
        if outcome.status != "ok"
    }
