"""Makes the side of a comparison from whatever a person names: a run, an arm of one, or a file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from cliffwatch.catalogue.installed import suite_of
from cliffwatch.columns import BootsOfColumns, BootTable, Columns, RowKey
from cliffwatch.failure import Failure
from cliffwatch.parsers.detect import parse_any
from cliffwatch.parsers.readings import ArmDescription, BootOrigin, Found, Parsed, Problem
from cliffwatch.parsers.received.decoding import decode
from cliffwatch.parsers.received.opening import STANDARD_INPUT, read_content
from cliffwatch.parsers.received.text import as_printed
from cliffwatch.parsers.sample_table import SampleTable
from cliffwatch.parsers.table.header import is_parquet, looks_like_table
from cliffwatch.samples import COMPARED, HOST_FAULTS, Arm, Boot, CaseKey, Sample, mode_named
from cliffwatch.stats.stages import Stages

if TYPE_CHECKING:
    from cliffwatch.formats.declared_metrics import Declared
    from cliffwatch.parsers.table.reading import Table

_NO_DESCRIPTION = ArmDescription(settings={}, facts={})


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedFile:
    """The arms that a file holds, in their order, and what it says of the run that they are of."""

    arms: Mapping[str, Arm]
    notable: float | None
    stages: Stages | None
    one_run: bool
    run: str = ""
    """The run's identity, where the file says it."""


def read_side(name: str) -> Arm | Failure:
    """A result directory (its head, or `DIR:ARM`), or a file of an import format (the arm that it holds, or `FILE:ARM`).

    `-` is standard input, and takes an arm as a file does.
    """
    path, _, arm = name.rpartition(":")
    if path and not Path(name).exists():
        if Path(path).is_dir():
            return _arm_of_run(Path(path), arm)
        if path == STANDARD_INPUT or Path(path).exists():
            return _arm_of_file(path, arm)
    if Path(name).is_dir():
        return _arm_of_run(Path(name), "head")
    return _arm_of_file(name, None)


def _arm_of_run(path: Path, arm: str) -> Arm | Failure:
    from cliffwatch.formats.result_directory import read_run  # noqa: PLC0415 - the types of documents are for runs alone

    run = read_run(path)
    if isinstance(run, Failure):
        return run
    if arm not in run.arms:
        return Failure(
            whose="usage", message=f"{path} has no arm '{arm}'", next_step=f"choose among: {', '.join(run.arms)}"
        )
    return run.arms[arm]


def _arm_of_file(path: str, arm: str | None) -> Arm | Failure:
    """The only arm of a file, or the named one: arms are never taken together."""
    imported = import_file(path)
    if isinstance(imported, Failure):
        return imported
    if arm is None and len(imported.arms) == 1:
        return next(iter(imported.arms.values()))
    if arm is None:
        named = " or ".join(f"{path}:{name}" for name in imported.arms)
        reason = f"{path} holds {len(imported.arms)} arms: {', '.join(imported.arms)}"
        return Failure(
            whose="usage", message=reason, next_step=f"name one of them: {named}; alone, the file compares its own arms"
        )
    if arm not in imported.arms:
        shown = ", ".join(filter(None, imported.arms))
        next_step = f"choose among: {shown}" if shown else "it holds one side without a name: leave the ':' out"
        return Failure(whose="usage", message=f"{path} has no arm '{arm}'", next_step=next_step)
    return imported.arms[arm]


def import_file(name: str | Path) -> ImportedFile | Failure:
    """Everything that a file of an import format holds, or a pipe, or standard input (`-`)."""
    content = read_content(name)
    return content if isinstance(content, Failure) else import_content(content, str(name))


def import_content(content: bytes, name: str) -> ImportedFile | Failure:
    """Everything that the unpacked content of a file holds. The file is opened by nobody again: it may be a pipe."""
    if is_parquet(content):
        from cliffwatch.parsers.table.parquet import read_parquet_table  # noqa: PLC0415 - each format loads its own reader

        table = read_parquet_table(content, name)
        return table if isinstance(table, Failure) else _of_table(table, name)
    text = as_printed(decode(content))
    if looks_like_table(text):
        from cliffwatch.parsers.table.comma_separated import read_csv_table  # noqa: PLC0415 - as above

        return _of_table(read_csv_table(text), name)
    parsed = parse_any(text)
    if not parsed.found:
        return _no_result(name, parsed.problems)
    arms = arms_from_parsed(parsed, name)
    settings = next(iter(parsed.arms.values()), _NO_DESCRIPTION).settings
    one_run = settings.get("one-run") != "no" and _are_of_boots(parsed.found)
    return ImportedFile(
        arms=arms, notable=_notable(settings), stages=_stages(settings) if one_run else None, one_run=one_run
    )


def _of_table(table: "Table", path: str) -> ImportedFile | Failure:
    if not any(boot.samples or boot.outcomes for arm in table.arms.values() for boot in arm.boots):
        return _no_result(path, table.problems)
    declared = _declared(table.settings)
    arms = {
        name: replace(
            arm,
            declared=declared,
            name=name or Path(path).name,
            label=arm.label or (f"{path}:{name}" if name else str(path)),
        )
        for name, arm in table.arms.items()
    }
    one_run = table.one_run and table.settings.get("one-run") != "no"
    stages = _stages(table.settings) if one_run else None
    return ImportedFile(arms=arms, notable=_notable(table.settings), stages=stages, one_run=one_run, run=table.run)


def _no_result(path: str, problems: Sequence[Problem]) -> Failure:
    first = problems[0].reason if problems else "it is empty"
    return Failure(
        whose="usage",
        message=f"{path} holds no result: {first}",
        next_step="see `cliffwatch parse` for all that is wrong",
    )


def parse_file(name: str | Path, *, stderr: str = "") -> Parsed | Failure:
    """What a file of any format that can be imported holds."""
    content = read_content(name)
    if isinstance(content, Failure):
        return content
    if is_parquet(content):
        from cliffwatch.parsers.table.parquet import read_parquet_table  # noqa: PLC0415 - as above
        from cliffwatch.parsers.table.reading import parsed_table  # noqa: PLC0415 - as above

        table = read_parquet_table(content, str(name))
        return table if isinstance(table, Failure) else parsed_table(table)
    return parse_any(decode(content), stderr=stderr)


def _notable(settings: Mapping[str, str]) -> float | None:
    """The threshold that the file says; None where it says none, or nonsense."""
    notable = _fraction(settings.get("notable", ""))
    return notable if notable is not None and 0 <= notable <= 1 else None


def _fraction(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _declared(settings: Mapping[str, str]) -> "Declared":
    if "declared" not in settings:
        return {}
    from cliffwatch.formats.declared_metrics import read_declared  # noqa: PLC0415 - for suites of the user's own

    return read_declared(settings)


def _stages(settings: Mapping[str, str]) -> Stages | None:
    if "stages" not in settings:
        return None
    from cliffwatch.formats.reading import Wrong, read_as  # noqa: PLC0415 - as above
    from cliffwatch.formats.run_record import StagesRecord  # noqa: PLC0415 - as above

    stages = read_as(settings["stages"].encode(), StagesRecord)
    return None if isinstance(stages, Wrong) else stages.stages


def arms_from_parsed(parsed: Parsed, label: str) -> dict[str, Arm]:
    """The arms of a parsed output by name; one with an empty name where it names none."""
    if isinstance(parsed.found, SampleTable):
        tables = {name: _columns(parsed.found, name) for name in dict.fromkeys(row.arm for row in parsed.found.rows)}
        if None not in tables.values():
            return {name: _arm(name, boots, parsed, label) for name, boots in tables.items() if boots is not None}
    found: dict[str, list[Found]] = {}
    for each in parsed.found:
        found.setdefault(each.arm, []).append(each)
    return {name: _arm(name, _boots(of_arm), parsed, label) for name, of_arm in found.items()}


def _arm(name: str, boots: Sequence[Boot], parsed: Parsed, label: str) -> Arm:
    description = parsed.arms.get(name, _NO_DESCRIPTION)
    settings, mode = description.settings, mode_named(description.settings.get("mode"))
    facts = {key: value for key, value in description.facts.items() if key != "label"}
    return Arm(
        name=name or Path(label).name,
        label=description.facts.get("label") or (f"{label}:{name}" if name else label),
        mode=mode,
        platform=settings.get("platform"),
        boots=boots,
        facts=facts,
        environment={key: settings[key] for key in COMPARED if key in settings} if mode else {},
        # What benchstat may assume of a unit holds for all cases that have it; of a run of ours each case is known better.
        assumed={} if mode else parsed.assumed,
        declared=_declared(settings),
        host_faults=tuple(fault for fault in settings.get(HOST_FAULTS, "").split("; ") if fault),
    )


def _are_of_boots(found: Sequence[Found]) -> bool:
    """Whether the output says of every sample which boot it is of."""
    return not isinstance(found, SampleTable) and all(each.origin is not None for each in found)


def _columns(table: SampleTable, arm: str) -> BootsOfColumns | None:
    """The boots of an arm whose n-th value of a metric of a case is taken for its n-th boot; None where the values of a metric of a case
    come in two units, or under two names of the case: then they are in several rows of the table.
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
    """Boots as the output says them; where it does not, the n-th value of a metric of a case is taken for the n-th boot."""
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
        Boot(index=origin.boot, block=origin.block, stage=origin.stage, layout=origin.layout, samples=tuple(of_boot))
        for origin, of_boot in sorted(by_boot.items(), key=lambda each: each[0].boot)
    )


def _counted_boots(samples: Sequence[Sample]) -> tuple[Boot, ...]:
    boots: dict[int, list[Sample]] = {}
    counts: dict[tuple[int, str], int] = {}
    for sample in samples:
        row = (id(sample.case), sample.metric)
        index = counts[row] = counts.get(row, 0) + 1
        boots.setdefault(index, []).append(sample)
    return tuple(Boot(index=index, block=index, samples=tuple(of_boot)) for index, of_boot in sorted(boots.items()))


def _of_case(sample: Sample, cases: dict[CaseKey, CaseKey]) -> Sample:
    """The sample with the one key of its case."""
    case = _case(sample.case, cases)
    return sample if case is sample.case else sample._replace(case=case)


def _case(case: CaseKey, cases: dict[CaseKey, CaseKey]) -> CaseKey:
    """With its suite. `cases` makes equal cases the same object: rows of hundreds of thousands of samples are counted by it."""
    known = cases.get(case)
    if known is None:
        suite = case.suite or suite_of(case.benchmark) or "unknown"
        known = cases[case] = case if suite == case.suite else case._replace(suite=suite)
    return known
