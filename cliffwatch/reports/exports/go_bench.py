"""Arms in the Go benchmark format, for benchstat."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence

from cliffwatch.formats.arms.declared_metrics import declared_setting
from cliffwatch.formats.reading import as_json
from cliffwatch.formats.run_record import stages_record
from cliffwatch.parsers.go.names import unit_of
from cliffwatch.parsers.go.writing import ExportedUnit, format_go_bench
from cliffwatch.reports.styles import visible
from cliffwatch.samples import HOST_FAULTS, Arm, CaseKey, MetricTraits, Mode
from cliffwatch.stats.stages import Stages

Traits = Callable[[CaseKey, str, str, Mode | None], MetricTraits]


def go_bench_report(
    arms: Iterable[Arm], traits: Traits, *, settings: Mapping[str, str] | None = None, of_run: Sequence[Arm] = ()
) -> str:
    """The samples of all arms. A unit is exact for benchstat only where every case that has it is.

    `settings` are those of the run (`run_settings`), `of_run` all of its arms where these are not.
    """
    arms = tuple(arms)
    units: dict[str, MetricTraits] = {}
    for arm in arms:
        for sample in (sample for boot in arm.boots for sample in boot.samples):
            unit = unit_of(sample.metric, sample.unit)
            known = traits(sample.case, sample.metric, sample.unit, arm.mode)
            if unit not in units or known.assume == "nothing":
                units[unit] = known
    exported = [ExportedUnit(unit, known) for unit, known in units.items()]
    return visible(format_go_bench(arms, exported, settings=settings, of_run=of_run))


def run_settings(
    notable: float | None, stages: Stages | None, *, one_run: bool = True, arms: Iterable[Arm] = ()
) -> dict[str, str]:
    """What must be known of a run to decide its rows again; nothing of what is default. `one_run`: see `Method`. Of `arms` it is what suites
    of the user's own declare, and what keeps their host from being a bench host.
    """
    arms = tuple(arms)
    settings = {} if one_run else {"one-run": "no"}
    if notable is not None:
        settings["notable"] = repr(notable)
    if stages is not None:
        settings["stages"] = json.dumps(as_json(stages_record(stages)))
    faults = dict.fromkeys(fault for arm in arms for fault in arm.host_faults)
    if faults:
        settings[HOST_FAULTS] = "; ".join(faults)
    declared = declared_setting(arms)
    return {**settings, **({"declared": declared} if declared else {})}
