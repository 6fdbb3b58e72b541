"""What the surroundings of a run do to what is known of its metrics."""

from cliffwatch.comparing.rows import Traits
from cliffwatch.samples import CaseKey, MetricTraits, Mode

_SEVERAL_CPUS_REPEATABILITY = 0.001
"""Seen with four virtual CPUs: single-producer cases still repeat to a tenth of a per cent."""


def case_traits(catalogue: Traits, cpus: int, case: CaseKey, metric: str, unit: str, mode: Mode | None) -> MetricTraits:
    """The catalogue's traits; its repeatabilities are of guests with one CPU."""
    traits = catalogue(case, metric, unit, mode)
    if cpus == 1 or traits.assume != "exact":
        return traits
    repeatability = max(traits.repeatability, _SEVERAL_CPUS_REPEATABILITY)
    return MetricTraits(better=traits.better, assume="exact", repeatability=repeatability, primary=traits.primary)
