"""Adapts metric traits to the environment of a run."""

import re
from collections.abc import Sequence
from dataclasses import replace

from cliffwatch.catalogue.unknown import traits_of_unknown
from cliffwatch.comparing.rows import Traits
from cliffwatch.comparing.thresholds import SEVERAL_CPUS_REPEATABILITY
from cliffwatch.samples import GUEST_CPUS, Arm, CaseKey, MetricTraits, Mode

_COUNT = re.compile(r"[0-9]{1,6}")


def assumed_traits(arms: Sequence[Arm], traits: Traits) -> Traits:
    """Traits that prefer the arms' own files and suites to the catalogue.

    In a suite that declares metrics, undeclared metrics are never primary.
    """
    assumed = {key: each for arm in arms for key, each in arm.assumed.items()}
    declared = {key: each for arm in arms for key, each in arm.declared.items()}
    if not assumed and not declared:
        return traits
    suites = {suite for suite, _, _ in declared}

    def answer(case: CaseKey, metric: str, unit: str, mode: Mode | None) -> MetricTraits:
        if case.suite in suites:
            known = declared.get((case.suite, case.benchmark, metric))
            return known or replace(traits_of_unknown(metric, unit), primary=False)
        known = traits(case, metric, unit, mode)
        own = assumed.get((metric, unit))
        if own is None:
            return known
        return replace(known, better=own.better or known.better, assume=own.assume or known.assume)

    return answer


def case_traits(
    catalogue: Traits, cpus: int, case: CaseKey, metric: str, unit: str, mode: Mode | None
) -> MetricTraits:
    """The catalogue's traits, with repeatability adapted to guests with `cpus` CPUs.

    The catalogue's repeatability holds for one CPU.
    """
    traits = catalogue(case, metric, unit, mode)
    own = dict(case.params).get(GUEST_CPUS, "")
    cpus = int(own) if _COUNT.fullmatch(own) else cpus
    if cpus == 1 or traits.assume != "exact":
        return traits
    repeatability = max(traits.repeatability, SEVERAL_CPUS_REPEATABILITY)
    return replace(traits, repeatability=repeatability)
