"""Reads a result directory (docs/formats.md): the measurements of a run, for reports and comparisons.

Reading never raises. A newer format, a missing file and a damaged file come back as a `Failure`.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from cliffwatch.failure import Failure, wrong_usage
from cliffwatch.formats.arms.declared_metrics import traits_by_metric
from cliffwatch.formats.arms.imported import ImportedRecord
from cliffwatch.formats.arms.recorded import guest_settings, record_settings
from cliffwatch.formats.boot_record import BootRecord, EnvironmentRecord, Measured, SamplesRecord
from cliffwatch.formats.reading import read_as
from cliffwatch.formats.run_reading import read_run_record
from cliffwatch.formats.run_record import ArmRecord, PlannedBootRecord, ProgramRecord, RunRecord
from cliffwatch.formats.values import OfCase, Part
from cliffwatch.parsers.readings import Problem
from cliffwatch.parsers.received.opening import read_regular
from cliffwatch.samples import Arm, Boot, CaseKey, cautions_in
from cliffwatch.stats.stages import Stages

_LARGEST_JSON_BYTES = 64 << 20

R = TypeVar("R", bound=OfCase)
D = TypeVar("D", bound=Part)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run on disk."""

    path: Path
    record: RunRecord
    """run.json."""
    arms: Mapping[str, Arm]
    """By name: base, head and, in walltime, control; or the arms of `--arm`."""
    stages: Stages | None
    """The stages of the plan; None if it has only one."""

    @property
    def absent_boots(self) -> tuple[PlannedBootRecord, ...]:
        """Boots of the plan that the folder does not hold: not done yet, or lost since. An arm that has no
        kernel has none to do.
        """
        there = {boot.index for arm in self.arms.values() for boot in arm.boots}
        kernels = {name for name, arm in self.arms.items() if arm.failure is None}
        return tuple(
            boot for boot in self.record.plan.boots if boot.arm in kernels and boot.index not in there
        )

    @property
    def complete(self) -> bool:
        return self.record.status == "complete" and not self.absent_boots


def read_run(path: Path) -> Run | Failure:
    """Reads run.json and every finished boot under `path`."""
    content = _content(path / "run.json")
    if isinstance(content, Failure):
        return content
    record = read_run_record(content)
    if isinstance(record, Problem):
        return _not_a_run(path, record)
    order = plan_order(record)
    boots: dict[str, list[Boot]] = {}
    guests: dict[str, dict[str, str]] = {}
    for about in sorted((path / "boots").glob("*/boot.json")):
        boot = _read_boot(about.parent, order)
        if isinstance(boot, Failure):
            return boot
        boots.setdefault(boot[0], []).append(boot[1])
        if boot[0] not in guests:
            guests[boot[0]] = _read_guest(about.parent)
    arms = {
        arm.name: _with_guest(
            arm_of_record(record, arm, tuple(boots.get(arm.name, ()))), guests.get(arm.name, {})
        )
        for arm in record.arms
    }
    return Run(path=path, record=record, arms=arms, stages=record.stages)


def _read_guest(folder: Path) -> dict[str, str]:
    """Reads the facts that the guest of a boot reported about itself. Empty if they cannot be read."""
    content = _content(folder / "environment.json")
    environment = None if isinstance(content, Failure) else read_as(content, EnvironmentRecord)
    return guest_settings(environment) if isinstance(environment, EnvironmentRecord) else {}


def _with_guest(arm: Arm, guest: Mapping[str, str]) -> Arm:
    return replace(arm, recorded={**arm.recorded, **guest})


def _not_a_run(path: Path, problem: Problem) -> Failure:
    if problem.member == "format":
        return wrong_usage(
            f"{path}: run.json is not of Cliffwatch", "name a folder that `cliffwatch run` made"
        )
    if problem.member == "format_version":
        return wrong_usage(
            f"{path}: {problem.reason}", "update Cliffwatch, or read them with the one that made them"
        )
    return _damaged_file(path / "run.json", str(problem))


def arm_of_record(record: RunRecord, about: ArmRecord, boots: Sequence[Boot]) -> Arm:
    """Builds an arm from its record in run.json and its boots."""
    imported = record.imported or ImportedRecord()
    return Arm(
        name=about.name,
        label=about.label,
        mode=record.mode,
        platform=record.platform,
        boots=boots,
        facts=about.facts.texts(),
        failure=None if about.failure is None else about.failure.message,
        environment={**comparable_environment(record, about), **imported.environment},
        meant=meant_to_differ(about),
        declared=traits_by_metric(record.declared),
        host_faults=record.host_faults,
        cautions=cautions_in(record.notes),
        unchanged=tuple(row.outcome for row in record.left_out if row.status == "unchanged-build"),
        assumed=imported.assumed_by_metric,
        lost=imported.lost_values,
        recorded=record_settings(record, about) if record.imported is None else imported.recorded,
        warnings=imported.warnings,
    )


def comparable_environment(record: RunRecord, arm: ArmRecord | None) -> dict[str, str]:
    """Returns the environment that must be equal for two arms to be compared.

    It includes processor, microcode, BIOS and kernel of the host only in walltime: in icount they have no
    effect.
    """
    toolchain = record.toolchain_facts if arm is None else arm.toolchain_facts or record.toolchain_facts
    known = {
        "config": None if arm is None else arm.facts.config,
        "compiler": toolchain.gcc or toolchain.clang,
        "bench": _programs(record, arm) or None,
        "go": _go(record, arm) or None,
        "modules": _modules(arm) or None,
        "guest": json.dumps(record.guest, sort_keys=True) if record.guest else None,
    }
    if record.mode == "walltime":
        known |= record.host_facts.machine()
    return {name: value for name, value in known.items() if value is not None}


def meant_to_differ(arm: ArmRecord) -> frozenset[str]:
    """Returns the environment keys in which an arm differs on purpose.

    A prebuilt kernel has its own configuration and was built by its own compiler.
    """
    settings = arm.settings
    prebuilt = arm.facts.commit is None and arm.facts.kernel is not None
    meant = {"config", "compiler"} if prebuilt else set[str]()
    if settings is not None:
        meant |= {"config"} if settings.config else set()
        meant |= {"compiler", "config"} if settings.cc else set()
        meant |= {"modules"} if settings.modules else set()
    return frozenset(meant)


def _of_arm(record: RunRecord, arm: ArmRecord | None) -> list[ProgramRecord]:
    """Returns the suites' own programs that an arm ran; those of all arms if `arm` is None."""
    return [each for each in record.programs if arm is None or each.ran_on(arm.name)]


def _go(record: RunRecord, arm: ArmRecord | None) -> str:
    """Returns the versions of Go that built the suites' own Go programs."""
    return ", ".join(dict.fromkeys(each.go for each in _of_arm(record, arm) if each.go))


def _modules(arm: ArmRecord | None) -> str:
    """Returns the Go modules that were requested for an arm, with their versions or folders."""
    chosen = {} if arm is None or arm.settings is None else arm.settings.modules
    return ", ".join(f"{name} {how}" for name, how in sorted(chosen.items()))


def _programs(record: RunRecord, arm: ArmRecord | None) -> str:
    """Returns digests of the programs that measured: bench, the suites' own programs, and their data."""
    bench = [] if record.bench is None or record.bench.source_digest is None else [record.bench.source_digest]
    programs = [f"{each.suite} {each.source_digest}" for each in _of_arm(record, arm)]
    return ", ".join([*bench, *programs, *([f"data {record.data.sha256}"] if record.data else [])])


def plan_order(record: RunRecord) -> dict[CaseKey, int]:
    """Returns the position of each case in the plan.

    Reports use this order; each boot runs its cases in another one.
    """
    return {case.case: index for index, case in enumerate(record.plan.cases)}


def _read_boot(folder: Path, order: Mapping[CaseKey, int]) -> tuple[str, Boot] | Failure:
    about = _read(folder / "boot.json", BootRecord)
    measured = _read(folder / "samples.json", SamplesRecord)
    if isinstance(about, Failure):
        return about
    if isinstance(measured, Failure):
        return measured
    return about.arm, boot_of_record(about, measured, order)


def boot_of_record(about: BootRecord, measured: Measured, order: Mapping[CaseKey, int]) -> Boot:
    """Builds a boot from boot.json and samples.json. Its samples and outcomes are in the plan's order."""
    cases = _Cases()
    samples = [row.sample(cases.of(row)) for row in _in_order(measured.samples, cases, order)]
    outcomes = [row.outcome for row in _in_order(measured.outcomes, cases, order)]
    return Boot(
        index=about.index,
        block=about.block,
        stage=about.stage,
        layout=about.layout,
        samples=tuple(samples),
        outcomes=tuple(outcomes),
    )


class _Cases:
    """Case keys of a boot. The samples of a case share one key object."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str, tuple[tuple[str, str], ...]], CaseKey] = {}

    def of(self, row: OfCase) -> CaseKey:
        key = row.case
        return self._known.setdefault(key, key)


def _in_order(rows: Iterable[R], cases: _Cases, order: Mapping[CaseKey, int]) -> list[R]:
    return sorted(rows, key=lambda row: order.get(cases.of(row).planned, 0))


def _read(path: Path, kind: type[D]) -> D | Failure:
    content = _content(path)
    if isinstance(content, Failure):
        return content
    document = read_as(content, kind)
    return _damaged_file(path, str(document)) if isinstance(document, Problem) else document


def _content(path: Path) -> bytes | Failure:
    try:
        return read_regular(path, _LARGEST_JSON_BYTES)
    except FileNotFoundError:
        return wrong_usage(f"{path}: there is no {path.name}", "name a folder that `cliffwatch run` made")
    except OSError as error:
        return _damaged_file(path, error.strerror or str(error))


def _damaged_file(path: Path, why: str) -> Failure:
    return wrong_usage(f"{path}: {path.name} cannot be read: {why}", "parse the raw outputs again")
