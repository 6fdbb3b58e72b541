"""Writes arms in the Go benchmark format, for benchstat."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from cliffwatch.formats.arms.declared_metrics import declared_setting
from cliffwatch.formats.reading import as_json
from cliffwatch.formats.run_record import stages_record
from cliffwatch.parsers.go.names import unit_of
from cliffwatch.parsers.go.writing import ExportedUnit, go_bench_lines
from cliffwatch.reports.styles import visible
from cliffwatch.samples import CAUTION, HOST_FAULTS, LAYOUTS, Arm, CaseKey, MetricTraits, Mode, format_faults
from cliffwatch.stats.stages import Stages

Traits = Callable[[CaseKey, str, str, Mode | None], MetricTraits]


def go_bench_report(
    arms: Iterable[Arm],
    traits: Traits,
    *,
    settings: Mapping[str, str] | None = None,
    of_run: Sequence[Arm] = (),
) -> str:
    """Writes the samples of arms. Declares a unit as exact only if it is exact in every case.

    `settings` are the settings of the run (`run_settings`). `of_run` has all arms of the run if `arms` is a
    selection.
    """
    return visible("\n".join(_lines(tuple(arms), traits, settings, of_run)) + "\n")


def go_bench_pieces(arms: Iterable[Arm], traits: Traits, settings: Mapping[str, str]) -> Iterator[str]:
    """Yields the text of `go_bench_report` line by line. Reads the boots twice."""
    for line in _lines(tuple(arms), traits, settings, ()):
        yield visible(line) + "\n"


def _lines(
    arms: Sequence[Arm], traits: Traits, settings: Mapping[str, str] | None, of_run: Sequence[Arm]
) -> Iterator[str]:
    units: dict[str, MetricTraits] = {}
    for arm in arms:
        known: set[tuple[CaseKey, str, str]] = set()
        for sample in (sample for boot in arm.boots for sample in boot.samples):
            key = (sample.case, sample.metric, sample.unit)
            if key not in known:
                known.add(key)
                unit, found = unit_of(sample.metric, sample.unit), traits(*key, arm.mode)
                if unit not in units or found.assume == "nothing":
                    units[unit] = found
    exported = [ExportedUnit(unit, of_unit) for unit, of_unit in units.items()]
    return go_bench_lines(arms, exported, settings=settings, of_run=of_run)


def run_settings(
    notable: float | None,
    stages: Stages | None,
    *,
    one_run: bool = True,
    arms: Iterable[Arm] = (),
    layouts: int | None = None,
) -> dict[str, str]:
    """Returns the settings of a run that a repeated comparison or its reader needs. Leaves out defaults.

    For `one_run`, see `Method`. `arms` contribute the metrics that the user's own suites declare, host
    faults, and cautions about one layout. `layouts` are those of each kernel in the first stage; None if
    unknown or without meaning.
    """
    arms = tuple(arms)
    settings = {} if one_run else {"one-run": "no"}
    if layouts is not None:
        settings[LAYOUTS] = str(layouts)
    cautions = dict.fromkeys(caution for arm in arms for caution in arm.cautions)
    if cautions:
        settings[CAUTION] = "; ".join(cautions)
    if notable is not None:
        settings["notable"] = repr(notable)
    if stages is not None:
        settings["stages"] = json.dumps(as_json(stages_record(stages)))
    faults = format_faults(fault for arm in arms for fault in arm.host_faults)
    if faults:
        settings[HOST_FAULTS] = faults
    declared = declared_setting(arms)
    return {**settings, **({"declared": declared} if declared else {})}
