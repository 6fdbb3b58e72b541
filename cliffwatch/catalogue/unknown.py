"""Traits of metrics of benchmarks that no suite has."""

from functools import lru_cache

from cliffwatch.catalogue.directions import better_of
from cliffwatch.parsers.bench.kinds import KIND_METRICS
from cliffwatch.samples import RESULT, MetricTraits


@lru_cache(maxsize=4096)
def traits_of_unknown(metric: str, unit: str) -> MetricTraits:
    """A metric of a known kind keeps its traits.

    For others, the unit's name gives the direction, if it has one.
    """
    if unit == RESULT:
        return MetricTraits(better=None, assume="exact", primary=False)
    for shapes in KIND_METRICS.values():
        if metric in shapes and shapes[metric].unit == unit:
            return MetricTraits(
                better=shapes[metric].better, assume="nothing", primary=shapes[metric].primary
            )
    return MetricTraits(better=better_of(metric, unit), assume="nothing")
