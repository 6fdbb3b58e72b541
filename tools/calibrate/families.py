"""B1, B2 and what a plan costs: families of 200 metrics, of which nothing changed, one, or many."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from calibrate.figures import Figure, share
from calibrate.noise import KINDS, Kind, Values, family
from cliffwatch.stats.boot_values import boot_values
from cliffwatch.stats.deciding import Decision, StagedValues, decide_staged
from cliffwatch.stats.families import holm
from cliffwatch.stats.ranks import two_samples
from cliffwatch.stats.stages import ADAPTIVE, CAREFUL, Stages

METRICS = 200
SPREAD = 0.02
MARGIN = 0.01
PLANS = {"careful, 21 then 30 boots": CAREFUL, "staged, 10 then 42 boots": ADAPTIVE}

Draw = tuple[Values, Values]


def staged_family(
    generator: np.random.Generator, kind: Kind, shifts: Values, stages: Stages
) -> list[Decision]:
    """Decisions on a family whose metrics are shifted by `shifts`, logs; confirming boots are drawn anew."""
    moved = shifts[:, None]
    first = (
        family(generator, kind, METRICS, stages.screen, SPREAD),
        family(generator, kind, METRICS, stages.screen, SPREAD),
    )
    boots = stages.looks[-1].boots
    fresh = family(generator, kind, METRICS, boots, SPREAD), family(generator, kind, METRICS, boots, SPREAD)
    rows = [
        StagedValues(
            screened=boot_values(first[0][row], first[1][row] + moved[row]),
            confirming=boot_values(fresh[0][row], fresh[1][row] + moved[row]),
        )
        for row in range(METRICS)
    ]
    return decide_staged(rows, stages, margin=MARGIN)


def published(decision: Decision) -> bool:
    return decision.outcome in ("changed", "changed-small")


def _null(seed: int, kind: Kind, stages: Stages) -> bool:
    generator = np.random.default_rng(seed)
    return any(map(published, staged_family(generator, kind, np.zeros(METRICS), stages)))


def _one(seed: int, kind: Kind, stages: Stages, size: float) -> bool:
    generator = np.random.default_rng(seed)
    shifts = np.zeros(METRICS)
    shifts[0] = np.log1p(size)
    return published(staged_family(generator, kind, shifts, stages)[0])


def counted(one: Callable[[int], bool], seeds: Sequence[int], pool: ProcessPoolExecutor) -> int:
    return sum(pool.map(one, seeds, chunksize=max(1, len(seeds) // 40)))


def staged_figures(seeds: range, pool: ProcessPoolExecutor) -> Iterator[Figure]:
    """How often something is published of nothing, and how often a change of one metric is detected."""
    families = len(seeds)
    for name, stages in PLANS.items():
        for kind in KINDS:
            wrong = counted(partial(_null, kind=kind, stages=stages), seeds, pool)
            yield Figure(
                bar="B1",
                what=f"{name}, {kind}: anything published of nothing",
                method="ours",
                measured=share(wrong, families),
                wanted="at most 1.5 %",
                met=wrong <= 0.015 * families,
            )
        for size, wanted in ((0.03, 0.95), (0.05, 0.995)):
            for kind in KINDS:
                detected = counted(
                    partial(_one, kind=kind, stages=stages, size=size), seeds[: families // 2], pool
                )
                yield Figure(
                    bar="B2",
                    what=f"{name}, {kind}: one shift of {size:.0%} detected",
                    method="ours",
                    measured=share(detected, families // 2),
                    wanted=f"at least {100 * wanted:g} %" if stages is CAREFUL else "reported",
                    met=detected >= wanted * (families // 2) if stages is CAREFUL else None,
                )


RIVALS: dict[str, Callable[[Values], NDArray[np.bool_]]] = {
    "rank test at 5 %, as benchstat": lambda p: p <= 0.05,
    "Benjamini-Hochberg 5 % on ranks": lambda p: stats.false_discovery_control(p) <= 0.05,
    "Holm 1 % on ranks": lambda p: np.array(holm(p)) <= 0.01,
}


def _rivals(seed: int, kind: Kind, size: float) -> dict[str, tuple[bool, bool]]:
    """By each rule on 21 boots an arm: whether anything but the first metric is flagged, and whether the
    first is.
    """
    generator = np.random.default_rng(seed)
    base, head = family(generator, kind, METRICS, 21, SPREAD), family(generator, kind, METRICS, 21, SPREAD)
    head[0] += np.log1p(size)
    ranks = two_samples(base, head).p()
    flagged = {name: rule(ranks) for name, rule in RIVALS.items()}
    welch = stats.ttest_ind(base, head, axis=1, equal_var=False)
    flagged["Welch at 5 %"] = np.asarray(welch.pvalue) <= 0.05
    return {name: (bool(flags[1:].any()), bool(flags[0])) for name, flags in flagged.items()}


def rival_figures(seeds: range, pool: ProcessPoolExecutor) -> Iterator[Figure]:
    families = len(seeds)
    for kind in KINDS:
        outcomes = list(pool.map(partial(_rivals, kind=kind, size=0.03), seeds, chunksize=50))
        for name in outcomes[0]:
            wrong, detected = (sum(each[name][part] for each in outcomes) for part in (0, 1))
            what = f"{kind}: anything false flagged among 199, and one shift of 3 % detected"
            measured_here = f"{share(wrong, families)}; {share(detected, families)}"
            yield Figure(bar="B1, B2", what=what, method=name, measured=measured_here, wanted="", met=None)


@dataclass(frozen=True, slots=True)
class Spent:
    """Of one comparison: boots times metrics of each arm, and the share of its real changes of 3 % and more
    that were detected.
    """

    cells: float
    detected: int
    real: int


def _mixed_shifts(generator: np.random.Generator) -> Values:
    """What pushes are like: in seven of ten nothing changed, in two a few rows did, in one many did."""
    shifts = np.zeros(METRICS)
    kind = generator.random()
    if kind >= 0.7:
        rows = int(generator.integers(1, 6)) if kind < 0.9 else int(generator.integers(METRICS // 5, METRICS))
        sizes = generator.uniform(0.02, 0.10, size=rows) * generator.choice([-1, 1])
        shifts[:rows] = np.log1p(sizes)
    return shifts


def _spent(seed: int, stages: Stages) -> Spent:
    generator = np.random.default_rng(seed)
    shifts = _mixed_shifts(generator)
    decisions = staged_family(generator, "mixed", shifts, stages)
    extra = sum(stages.looks[decision.looks - 1].boots for decision in decisions if decision.looks)
    large = np.abs(shifts) >= np.log1p(0.03) - 1e-9
    detected = sum(published(decision) for decision, real in zip(decisions, large, strict=True) if real)
    return Spent(stages.screen * METRICS + extra, detected, int(large.sum()))


def _fixed(seed: int, boots: int) -> Spent:
    generator = np.random.default_rng(seed)
    shifts = _mixed_shifts(generator)
    base, head = (
        family(generator, "mixed", METRICS, boots, SPREAD),
        family(generator, "mixed", METRICS, boots, SPREAD),
    )
    flags = np.array(holm(two_samples(base, head + shifts[:, None]).p())) <= 0.01
    large = np.abs(shifts) >= np.log1p(0.03) - 1e-9
    return Spent(boots * METRICS, int(flags[large].sum()), int(large.sum()))


def cost_figures(seeds: range, pool: ProcessPoolExecutor) -> Iterator[Figure]:
    """Guest time of the staged plan against the one-stage plan of the same family-wise error that finds as
    much.
    """
    ours = list(pool.map(partial(_spent, stages=ADAPTIVE), seeds, chunksize=10))
    power, cells = _power(ours), sum(each.cells for each in ours) / len(seeds)
    for boots in range(12, 80, 2):
        theirs = list(pool.map(partial(_fixed, boots=boots), seeds, chunksize=10))
        if _power(theirs) >= power:
            ratio = cells / (boots * METRICS)
            yield Figure(
                bar="adaptive",
                what=(
                    f"guest time of staged against {boots} boots of everything, Holm 1 %, both find"
                    f" {power:.1%} of shifts >= 3 %"
                ),
                method="ours",
                measured=f"{ratio:.0%}",
                wanted="at most 60 %",
                met=ratio <= 0.6,
            )
            return


def _power(spent: Sequence[Spent]) -> float:
    return sum(each.detected for each in spent) / max(1, sum(each.real for each in spent))
