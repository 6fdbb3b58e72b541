"""Rows of a comparison: a metric of a case, with the samples that each side has of it."""

import math
import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from cliffwatch.comparing.comparison import Comparison
from cliffwatch.comparing.thresholds import Method
from cliffwatch.samples import Arm, Boot, CaseKey, MetricTraits, Mode, Sample

Traits = Callable[[CaseKey, str, str, Mode | None], MetricTraits]
"""Answers for a case, metric, unit and mode."""


class Measurement(NamedTuple):
    """A sample and the boot that it comes from."""

    sample: Sample
    boot: Boot


@dataclass(frozen=True, slots=True)
class Row:
    """A metric of a case, one measurement a boot and side; `other_unit` is that of the other side where they differ, `notes` what a
    reader should know of the measurements.
    """

    case: CaseKey
    metric: str
    unit: str
    traits: MetricTraits
    base: tuple[Measurement, ...]
    head: tuple[Measurement, ...]
    other_unit: str | None = None
    notes: tuple[str, ...] = ()

    def both(self) -> tuple[Measurement, ...]:
        return (*self.base, *self.head)


def rows_of(base: Arm, head: Arm, traits: Traits, mode: Mode | None) -> Iterable[Row]:
    """Every metric that either side measured, in the order of the plan."""
    ours, theirs = _by_metric(base), _by_metric(head)
    units: dict[tuple[CaseKey, str], set[str]] = {}
    for case, metric, unit in [*ours, *theirs]:
        units.setdefault((case, metric), set()).add(unit)
    for key in dict.fromkeys([*ours, *theirs]):
        case, metric, unit = key
        mine, other = ours.get(key, ()), theirs.get(key, ())
        elsewhere = None if mine and other else units.get((case, metric), {unit}) - {unit}
        yield Row(case, metric, unit, traits(case, metric, unit, mode), mine, other, next(iter(elsewhere or ()), None))


def _by_metric(arm: Arm) -> dict[tuple[CaseKey, str, str], tuple[Measurement, ...]]:
    measured: dict[tuple[CaseKey, str, str], list[Measurement]] = {}
    for boot in arm.boots:
        for sample in boot.samples:
            measured.setdefault((sample.case, sample.metric, sample.unit), []).append(Measurement(sample, boot))
    return {key: tuple(measurements) for key, measurements in measured.items()}


def blank(row: Row, platform: str | None, mode: Mode | None, method: Method) -> Comparison:
    """The row's comparison before anything is known but its centres and by which method it is compared."""
    return Comparison(
        case=row.case,
        metric=row.metric,
        unit=row.unit,
        better=row.traits.better,
        assume=row.traits.assume,
        primary=row.traits.primary,
        platform=platform,
        mode=mode,
        threshold=method.threshold(row.traits.assume, row.traits.repeatability),
        interval_level=method.interval_level(row.traits.assume),
        n_base=len(row.base),
        n_head=len(row.head),
        base=_centre(row.base),
        head=_centre(row.head),
        change=None,
        ci_low=None,
        ci_high=None,
        p=None,
        q=None,
        mde=None,
        verdict="missing",
        reason="",
        base_spread=_spread(row.base),
        head_spread=_spread(row.head),
        notes=row.notes,
    )


def _spread(measurements: tuple[Measurement, ...]) -> float | None:
    """The standard deviation as a fraction of the mean, of at least two positive values."""
    values = [each.sample.value for each in measurements]
    count = len(values)
    if count < 2 or not 0 < min(values) <= max(values) < math.inf:
        return None
    largest = max(values)
    shares = [value / largest for value in values]
    mean = math.fsum(shares) / count
    return math.sqrt(math.fsum((share - mean) ** 2 for share in shares) / (count - 1)) / mean


def _centre(measurements: tuple[Measurement, ...]) -> float | None:
    """The median; None of nothing, and where it is no number."""
    if not measurements:
        return None
    centre = statistics.median(each.sample.value for each in measurements)
    return centre if math.isfinite(centre) else None
