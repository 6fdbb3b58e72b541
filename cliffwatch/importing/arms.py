"""Builds the arms of a parsed output: boots with their samples, and the outcomes of missing results."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from cliffwatch.columns import BootsOfColumns, BootTable, Columns, RowKey
from cliffwatch.importing.problems import add_problems, add_suite
from cliffwatch.parsers.readings import ArmDescription, BootOrigin, Found, Parsed
from cliffwatch.parsers.sample_table import SampleTable
from cliffwatch.samples import (
    CAUTION,
    ENVIRONMENT_KEYS,
    HOST_FAULTS,
    LAYOUTS,
    MACHINE_KEYS,
    Arm,
    Boot,
    CaseKey,
    Sample,
    find_mode,
    parse_cautions,
    parse_faults,
)

if TYPE_CHECKING:
    from cliffwatch.formats.arms.declared_metrics import Declared

_NOT_OF_THE_MACHINE = frozenset(
    {
        "arm",
        "suite",
        "pkg",
        "label",
        "mode",
        "platform",
        "notable",
        "stages",
        "declared",
        "one-run",
        HOST_FAULTS,
        LAYOUTS,
        CAUTION,
        *ENVIRONMENT_KEYS,
    }
    | {
        "commit",
        "revision",
        "branch",
        "kernel",
        "release",
        "version",
        "date",
        "time",
        "note",
        "subject",
    }
)
"""Settings that do not describe the machine: those of the environment, the run and the compared versions.

The commit settings of arms, `ARM-commit`, do not describe it either.
"""


def _is_of_the_machine(setting: str) -> bool:
    return setting not in _NOT_OF_THE_MACHINE and not setting.endswith("-commit")


NO_DESCRIPTION = ArmDescription(settings={}, facts={})


def holds_nothing(parsed: Parsed) -> bool:
    """True if an output has neither a result nor a lost one."""
    return not parsed.found and not any(each.lost for each in parsed.problems)


def declarations_in(settings: Mapping[str, str]) -> "Declared":
    if "declared" not in settings:
        return {}
    from cliffwatch.formats.arms.declared_metrics import read_declared  # noqa: PLC0415 - for suites of the user's own

    return read_declared(settings)


def arms_from_parsed(parsed: Parsed, label: str) -> dict[str, Arm]:
    """Returns the arms of a parsed output by name. If it names no arm, there is one with an empty key."""
    arms = _measured_arms(parsed, label)
    for name in {each.lost.arm for each in parsed.problems if each.lost is not None} - arms.keys():
        arms[name] = _arm(name, (), parsed, label)
    return add_problems(arms, parsed.problems, label)


def _measured_arms(parsed: Parsed, label: str) -> dict[str, Arm]:
    if isinstance(parsed.found, SampleTable):
        tables = {
            name: _columns(parsed.found, name) for name in dict.fromkeys(row.arm for row in parsed.found.rows)
        }
        if None not in tables.values():
            return {
                name: _arm(name, boots, parsed, label) for name, boots in tables.items() if boots is not None
            }
    found: dict[str, list[Found]] = {}
    for each in parsed.found:
        of_arm = found.setdefault(each.arm, [])
        if not each.doubted:
            of_arm.append(each)
    return {name: _arm(name, _boots(of_arm), parsed, label) for name, of_arm in found.items()}


def _arm(name: str, boots: Sequence[Boot], parsed: Parsed, label: str) -> Arm:
    description = parsed.arms.get(name, NO_DESCRIPTION)
    settings, mode = description.settings, find_mode(description.settings.get("mode"))
    facts = {key: value for key, value in description.facts.items() if key != "label"}
    return Arm(
        name=name or Path(label).name,
        label=description.facts.get("label") or (f"{label}:{name}" if name else label),
        mode=mode,
        platform=settings.get("platform"),
        boots=boots,
        facts=facts,
        warnings=description.warnings,
        host_faults=parse_faults(settings),
        cautions=parse_cautions(settings),
        environment={
            key: settings[key] for key in (ENVIRONMENT_KEYS if mode else MACHINE_KEYS) if key in settings
        },
        recorded={key: text for key, text in settings.items() if _is_of_the_machine(key)},
        # What benchstat may assume of a unit holds for all cases that have it; of a run of ours each case is
        # known better.
        assumed={} if mode else parsed.assumed,
        declared=declarations_in(settings),
    )


def are_of_boots(found: Sequence[Found]) -> bool:
    """True if the output gives the boot of every sample."""
    return not isinstance(found, SampleTable) and all(each.origin is not None for each in found)


def _columns(table: SampleTable, arm: str) -> BootsOfColumns | None:
    """Builds the boots of an arm: the n-th value of a row belongs to the n-th boot.

    Returns None if a metric of a case has several rows in the table, because it has two units or its case two
    names.
    """
    cases: dict[CaseKey, CaseKey] = {}
    numbers = np.array([number for number, row in enumerate(table.rows) if row.arm == arm], dtype=np.intp)
    rows = [table.rows[number] for number in numbers.tolist()]
    keys = [RowKey(_case(row.case, cases), row.metric, row.unit) for row in rows]
    if len({(key.case, key.metric) for key in keys}) < len(keys):
        return None
    counts = np.diff(table.starts)[numbers]
    starts = np.concatenate([[0], np.cumsum(counts)])
    places = np.arange(starts[-1]) - np.repeat(starts[:-1], counts)
    chosen = places + np.repeat(table.starts[numbers], counts)
    count = np.arange(1, counts.max() + 1)
    boots = BootTable(index=count, block=count, confirms=np.zeros(len(count), dtype=bool), layouts=())
    columns = Columns(
        boots=boots,
        keys=keys,
        starts=starts,
        values=table.values[chosen],
        resolutions=table.resolutions[chosen],
        places=places,
    )
    return BootsOfColumns(columns, table.order[chosen])


def _boots(found: Sequence[Found]) -> tuple[Boot, ...]:
    """Groups samples by the boots that the output names.

    If it names none, the n-th value of a case's metric belongs to the n-th boot.
    """
    cases: dict[CaseKey, CaseKey] = {}
    samples = [_of_case(each.sample, cases) for each in found]
    origins = [each.origin for each in found]
    known = [origin.boot for origin in origins if origin is not None]
    rows = [(number, id(sample.case), sample.metric) for number, sample in zip(known, samples, strict=False)]
    if len(known) < len(found) or len(set(rows)) < len(rows):
        return _counted_boots(samples)
    by_boot: dict[BootOrigin, list[Sample]] = {}
    for origin, sample in zip(origins, samples, strict=True):
        if origin is not None:
            by_boot.setdefault(origin, []).append(sample)
    return tuple(
        Boot(
            index=origin.boot,
            block=origin.block,
            stage=origin.stage,
            layout=origin.layout,
            samples=tuple(of_boot),
        )
        for origin, of_boot in sorted(by_boot.items(), key=lambda each: each[0].boot)
    )


def _counted_boots(samples: Sequence[Sample]) -> tuple[Boot, ...]:
    boots: dict[int, list[Sample]] = {}
    counts: dict[tuple[int, str], int] = {}
    for sample in samples:
        row = (id(sample.case), sample.metric)
        index = counts[row] = counts.get(row, 0) + 1
        boots.setdefault(index, []).append(sample)
    return tuple(
        Boot(index=index, block=index, samples=tuple(of_boot)) for index, of_boot in sorted(boots.items())
    )


def _of_case(sample: Sample, cases: dict[CaseKey, CaseKey]) -> Sample:
    """Replaces the sample's case by the shared key object of equal cases."""
    case = _case(sample.case, cases)
    return sample if case is sample.case else sample._replace(case=case)


def _case(case: CaseKey, cases: dict[CaseKey, CaseKey]) -> CaseKey:
    """Adds the suite to a case.

    `cases` makes equal cases the same object, so that hundreds of thousands of samples can be counted by its
    id.
    """
    known = cases.get(case)
    if known is None:
        known = cases[case] = add_suite(case)
    return known
