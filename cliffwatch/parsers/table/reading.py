"""Turns rows of the table, which may come from an untrusted source, back into arms."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

from cliffwatch.counting import count_noun
from cliffwatch.parsers.readings import ArmDescription, BootOrigin, Found, Parsed, Problem, problem_at
from cliffwatch.parsers.table.cells import (
    Cells,
    Unreadable,
    number_of,
    object_of,
    readings_of,
    text_of,
    texts_of,
    whole_of,
)
from cliffwatch.parsers.table.columns import FORMAT_VERSION
from cliffwatch.samples import (
    ENVIRONMENT_KEYS,
    Arm,
    Assume,
    Assumed,
    Better,
    Boot,
    CaseKey,
    CaseOutcome,
    CaseStatus,
    Mode,
    Sample,
    find_mode,
    parse_cautions,
    parse_faults,
)

MOST_PROBLEMS = 1000
"""The most problems that are listed; further ones are only counted."""

_STATUSES = frozenset(
    {"ok", "failed", "refused", "panic", "timeout", "unsupported", "not-run", "unchanged-build"}
)
_COMPARED = frozenset(ENVIRONMENT_KEYS)
_SHORT_RUN = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """The content of a table."""

    arms: Mapping[str, Arm]
    """By name; by `RUN/NAME` if the table has several runs. Names and labels that the rows lack are empty."""
    settings: Mapping[str, str]
    """The settings of the run, as text; empty if the table has several runs."""
    problems: tuple[Problem, ...]
    run: str = ""
    """The run's identity; empty if the rows have none, or if they belong to several runs."""

    one_run: bool = False
    """True if all rows belong to one run."""


@dataclass(slots=True)
class _BootRows:
    block: int
    stage: str
    layout: str | None
    samples: dict[tuple[CaseKey, str, str], Sample] = field(default_factory=dict)
    outcomes: dict[CaseKey, CaseOutcome] = field(default_factory=dict)


@dataclass(slots=True)
class _ArmRows:
    mode: Mode | None
    platform: str | None
    commit: str | None
    about: Mapping[str, object] = field(default_factory=dict)
    boots: dict[int, _BootRows] = field(default_factory=dict)


class TableReader:
    """Collects rows one by one. A row that cannot be read becomes a problem with its line."""

    def __init__(self) -> None:
        self._arms: dict[tuple[str, str], _ArmRows] = {}
        self._cases: dict[tuple[str, str, str], CaseKey] = {}
        self._problems: list[Problem] = []
        self._more = 0
        self._newer = False

    def add(self, cells: Cells, line: int) -> None:
        try:
            self._add(cells)
        except (Unreadable, OverflowError, RecursionError) as error:
            shown = ",".join(str(each)[:100] for each in cells.values() if each is not None)
            self.skip(problem_at(line, shown, str(error) or "nested too deeply"))

    def skip(self, problem: Problem) -> None:
        if len(self._problems) < MOST_PROBLEMS:
            self._problems.append(problem)
        else:
            self._more += 1

    def _add(self, cells: Cells) -> None:
        number, value = whole_of(cells, "boot"), number_of(cells, "value")
        about = object_of(cells, "about")
        version = about.get("format_version", FORMAT_VERSION)
        if not isinstance(version, int) or version > FORMAT_VERSION:
            self._newer = True
            raise Unreadable(
                f"the table has format {version!r}; this Cliffwatch reads up to {FORMAT_VERSION}: update it"
            )
        case = self._case(cells)
        sample = None if value is None else _sample(cells, case, value)
        if sample is not None and number is None:
            raise Unreadable("a value without a boot")
        arm = self._arm(cells)
        arm.about = arm.about or about
        if number is None:
            return
        boot = arm.boots.get(number)
        if boot is None:
            stage = "confirm" if cells.get("stage") == "confirm" else "screen"
            block = whole_of(cells, "block")
            boot = arm.boots[number] = _BootRows(
                number if block is None else block, stage, text_of(cells, "layout")
            )
        if case is not None:
            _keep(boot, case, sample, _outcome(cells, case))

    def _arm(self, cells: Cells) -> _ArmRows:
        key = text_of(cells, "run") or "", text_of(cells, "arm") or ""
        arm = self._arms.get(key)
        if arm is None:
            arm = self._arms[key] = _ArmRows(
                find_mode(text_of(cells, "mode")), text_of(cells, "platform"), text_of(cells, "commit")
            )
        return arm

    def _case(self, cells: Cells) -> CaseKey | None:
        """Returns the case of a row, None if it has none.

        Equal cases are the same object, so that hundreds of thousands of samples can be grouped by it
        quickly.
        """
        suite, benchmark, params = (text_of(cells, name) or "" for name in ("suite", "benchmark", "params"))
        if not benchmark:
            if suite or params:
                raise Unreadable("a case without a benchmark")
            return None
        key = (suite, benchmark, params)
        case = self._cases.get(key)
        if case is None:
            named = object_of(cells, "params")
            pairs = tuple(
                (str(name), text if isinstance(text, str) else json.dumps(text))
                for name, text in named.items()
            )
            case = self._cases[key] = CaseKey(suite or "unknown", benchmark, pairs)
        return case

    def table(self) -> Table:
        """Returns everything that was read.

        If any row has a newer format, there are no arms: rows of that format may have another meaning.
        """
        problems = tuple(self._problems)
        if self._more:
            problems = (
                *problems,
                problem_at(0, "", f"{count_noun(self._more, 'more row')} could not be read"),
            )
        if self._newer:
            return Table(arms={}, settings={}, problems=problems)
        runs = dict.fromkeys(run for run, _ in self._arms)
        short = {run: run[:_SHORT_RUN] for run in runs}
        named = short if len(set(short.values())) == len(runs) else dict(zip(runs, runs, strict=True))
        arms = {
            name if len(runs) == 1 else f"{named[run]}/{name}": rows
            for (run, name), rows in self._arms.items()
        }
        first = next(iter(self._arms.values()), None)
        return Table(
            arms={name: _arm(name, rows) for name, rows in arms.items()},
            settings={} if first is None or len(runs) > 1 else texts_of(first.about.get("settings")),
            problems=problems,
            run=next(iter(runs)) if len(runs) == 1 else "",
            one_run=len(runs) == 1,
        )


def _keep(boot: _BootRows, case: CaseKey, sample: Sample | None, outcome: CaseOutcome | None) -> None:
    if outcome is not None:
        boot.outcomes.setdefault(case, outcome)
    if sample is None:
        return
    key = (case, sample.metric, sample.unit)
    if key in boot.samples:
        raise Unreadable(f"{sample.metric} of {case} appears twice in this boot")
    boot.samples[key] = sample


def _arm(name: str, rows: _ArmRows) -> Arm:
    label, failure = rows.about.get("label"), rows.about.get("failure")
    facts = texts_of(rows.about.get("facts"))
    if rows.commit is not None and "commit" not in facts:
        facts = {"commit": rows.commit, **facts}
    environment, warnings = texts_of(rows.about.get("environment")), rows.about.get("warnings")
    settings = texts_of(rows.about.get("settings"))
    return Arm(
        name=name,
        label=label if isinstance(label, str) else "",
        mode=rows.mode,
        platform=rows.platform,
        boots=tuple(_boot(index, boot) for index, boot in sorted(rows.boots.items())),
        facts=facts,
        failure=failure if isinstance(failure, str) else None,
        environment={key: value for key, value in environment.items() if key in _COMPARED},
        assumed=_read_assumptions(rows.about.get("assumed")),
        host_faults=parse_faults(settings),
        cautions=parse_cautions(settings),
        warnings=tuple(each for each in warnings if isinstance(each, str))
        if isinstance(warnings, list)
        else (),
        recorded={key: value for key, value in environment.items() if key not in _COMPARED},
    )


def _read_assumptions(content: object) -> dict[tuple[str, str], Assumed]:
    """Parses what the arm's original file declared: a list of [metric, unit, better, assume]."""
    found: dict[tuple[str, str], Assumed] = {}
    for each in content if isinstance(content, list) else ():
        match each:
            case [
                str(metric),
                str(unit),
                ("higher" | "lower" | None) as better,
                ("exact" | "nothing" | None) as assume,
            ]:
                found[metric, unit] = Assumed(cast("Better | None", better), cast("Assume | None", assume))
            case _:
                continue
    return found


def _boot(index: int, rows: _BootRows) -> Boot:
    return Boot(
        index=index,
        block=rows.block,
        samples=tuple(rows.samples.values()),
        outcomes=tuple(rows.outcomes.values()),
        stage="confirm" if rows.stage == "confirm" else "screen",
        layout=rows.layout,
    )


def _sample(cells: Cells, case: CaseKey | None, value: float) -> Sample:
    metric, unit = text_of(cells, "metric"), text_of(cells, "unit")
    if case is None or metric is None or unit is None:
        raise Unreadable("a value without a benchmark, a metric or a unit")
    resolution = number_of(cells, "resolution") or 0.0
    if resolution < 0:
        raise Unreadable("a negative resolution")
    return Sample(
        case=case, metric=metric, unit=unit, value=value, readings=readings_of(cells), resolution=resolution
    )


def _outcome(cells: Cells, case: CaseKey) -> CaseOutcome | None:
    status = text_of(cells, "outcome")
    if status is None:
        return None
    if status not in _STATUSES:
        raise Unreadable(f"an unknown outcome {status[:40]!r}")
    return CaseOutcome(case=case, status=cast("CaseStatus", status), reason=text_of(cells, "reason") or "")


def convert_table(table: Table) -> Parsed:
    """Converts a table to the common result of parsers. Outcomes are dropped."""
    found = tuple(
        Found(sample, name, BootOrigin(boot.index, boot.block, boot.stage, boot.layout))
        for name, arm in table.arms.items()
        for boot in arm.boots
        for sample in boot.samples
    )
    return Parsed(
        found=found,
        problems=table.problems,
        arms={name: _describe_arm(arm, table.settings) for name, arm in table.arms.items()},
    )


def _describe_arm(arm: Arm, settings: Mapping[str, str]) -> ArmDescription:
    known = {"mode": arm.mode, "platform": arm.platform}
    named = {key: value for key, value in known.items() if value is not None}
    facts = {"label": arm.label, **arm.facts} if arm.label else arm.facts
    return ArmDescription(settings={**named, **arm.environment, **settings}, facts=facts)
