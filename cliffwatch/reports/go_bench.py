"""Arms in the Go benchmark format, for benchstat."""

from collections.abc import Callable, Iterable

from cliffwatch.parsers.go_bench import ExportedUnit, format_go_bench, unit_of
from cliffwatch.samples import Arm, CaseKey, MetricTraits, Mode

Traits = Callable[[CaseKey, str, str, Mode | None], MetricTraits]


def go_bench_report(arms: Iterable[Arm], traits: Traits) -> str:
    """The samples of all arms. A unit is exact for benchstat only where every case that has it is."""
    arms = tuple(arms)
    units: dict[str, MetricTraits] = {}
    for arm in arms:
        for sample in (sample for boot in arm.boots for sample in boot.samples):
            unit = unit_of(sample.metric, sample.unit)
            found = traits(sample.case, sample.metric, sample.unit, arm.mode)
            if unit not in units or found.assume == "nothing":
                units[unit] = found
    return format_go_bench(arms, [ExportedUnit(unit, found) for unit, found in units.items()])
