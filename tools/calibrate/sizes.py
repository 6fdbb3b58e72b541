"""What a report says of sizes: detectable changes, how large published ones are, boots that would decide,
geometric means.
"""

import math
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np

from calibrate.families import MARGIN, PLANS, SPREAD, counted, published
from calibrate.figures import Figure, share
from calibrate.noise import KINDS, Kind, family
from calibrate.odd_families import FIXED
from cliffwatch.stats.boot_values import boot_values
from cliffwatch.stats.deciding import Decision, StagedValues, decide_fixed, decide_staged
from cliffwatch.stats.means import mean_ratio
from cliffwatch.stats.power.detectable import detectable, detectable_in_pairs, detectable_staged
from cliffwatch.stats.published_size import published_size

_BOOTS = 21
_ALPHA = 0.01
_ROWS = 20
_SIZES = (0.01, 0.02, 0.03)
_MEAN_ROWS = 20


def _first(seed: int, kind: Kind, plan: str, rows: int, shift: float) -> tuple[Decision, int]:
    """The decision on the first row of a family, the only one that is shifted; and the candidates of the
    screen.
    """
    generator = np.random.default_rng([seed, rows])
    moved = np.where(np.arange(rows) == 0, shift, 0.0)

    def arms(boots: int) -> list[tuple[np.ndarray, np.ndarray]]:
        base, head = (
            family(generator, kind, rows, boots, SPREAD),
            family(generator, kind, rows, boots, SPREAD),
        )
        return [(ours, theirs + by) for ours, theirs, by in zip(base, head, moved, strict=True)]

    if plan == FIXED:
        return decide_fixed([boot_values(*row) for row in arms(_BOOTS)], margin=MARGIN, alpha=_ALPHA)[0], 0
    stages = PLANS[plan]
    both = zip(arms(stages.screen), arms(stages.looks[-1].boots), strict=True)
    rows_of_plan = [
        StagedValues(screened=boot_values(*first), confirming=boot_values(*fresh)) for first, fresh in both
    ]
    decisions = decide_staged(rows_of_plan, stages, margin=MARGIN)
    return decisions[0], sum(decision.direction != 0 for decision in decisions)


def _detected(seed: int, kind: Kind, plan: str, rows: int, shift: float) -> bool:
    return published(_first(seed, kind, plan, rows, shift)[0])


def _candidates(seed: int, kind: Kind, plan: str, rows: int) -> int:
    return _first(seed, kind, plan, rows, 0.0)[1]


def detectable_figures(seeds: range, pool: ProcessPoolExecutor) -> Iterator[Figure]:
    """How often a change is detected that is as large as the detectable change of its plan."""
    for plan in (FIXED, *PLANS):
        for rows in (20, 200):
            if plan == FIXED:
                shift = detectable(SPREAD, _BOOTS, _BOOTS, _ALPHA / rows)
            else:
                typical = pool.map(partial(_candidates, kind="independent", plan=plan, rows=rows), range(40))
                shift = detectable_staged(SPREAD, PLANS[plan], round(np.mean(list(typical))) + 1)
            assert shift is not None
            detected = counted(
                partial(_detected, kind="independent", plan=plan, rows=rows, shift=shift), seeds, pool
            )
            yield Figure(
                bar="detectable",
                what=f"{plan}, {rows} rows: the detectable change of {math.expm1(shift):.2%} detected",
                method="ours",
                measured=share(detected, len(seeds)),
                wanted="78 to 82 %",
                met=0.78 <= round(detected / len(seeds), 2) <= 0.82,
            )


def _detected_in_pairs(seed: int, rows: int, shift: float) -> bool:
    """Boots of a block share four fifths of their variance."""
    generator = np.random.default_rng([seed, rows, 2])
    shared, base, head = generator.normal(0, SPREAD, (3, rows, _BOOTS))
    base, head = 2 * shared + base, 2 * shared + head
    head[0] += shift
    arms = [boot_values(ours, theirs) for ours, theirs in zip(base, head, strict=True)]
    return published(decide_fixed(arms, margin=MARGIN, alpha=_ALPHA)[0])


def pairs_figures(seeds: range, pool: ProcessPoolExecutor) -> Iterator[Figure]:
    for rows in (20, 200):
        shift = detectable_in_pairs(SPREAD, _BOOTS, _ALPHA / rows)
        assert shift is not None
        detected = counted(partial(_detected_in_pairs, rows=rows, shift=shift), seeds, pool)
        yield Figure(
            bar="detectable",
            what=(
                f"{_BOOTS} boots in one stage, in pairs, {rows} rows: the detectable change of"
                f" {math.expm1(shift):.2%} detected"
            ),
            method="ours",
            measured=share(detected, len(seeds)),
            wanted="78 to 82 %",
            met=0.78 <= round(detected / len(seeds), 2) <= 0.82,
        )


def _published(seed: int, kind: Kind, plan: str, size: float) -> tuple[float, float, bool, float] | None:
    """Of a published change: what was measured, what is published, whether its interval has the truth, and
    how wide it is.
    """
    decision, _ = _first(seed, kind, plan, _ROWS, math.log1p(size))
    if not published(decision):
        return None
    ranked = decision.used.ranked(in_pairs=decision.in_pairs)
    critical = decision.p * _ALPHA / decision.q / (2 if plan == FIXED else 1)
    said = published_size(ranked, direction=float(ranked.shift), critical_p=critical)
    if said is None:
        return None
    return said.measured, said.shift, said.low <= math.log1p(size) <= said.high, said.high - said.low


def published_figures(seeds: range, pool: ProcessPoolExecutor) -> Iterator[Figure]:
    for plan in (FIXED, *PLANS):
        for size in _SIZES:
            for kind in ("independent", "mixed"):
                tries = pool.map(partial(_published, kind=kind, plan=plan, size=size), seeds, chunksize=50)
                rows = np.array([each for each in tries if each is not None], dtype=float)
                if len(rows) < 50:
                    continue
                measured, said, covered, width = rows.mean(axis=0)
                yield Figure(
                    bar="sizes",
                    what=(
                        f"{plan}, {kind}: a published change of {size:.0%} lies in its 95 % interval;"
                        " measured; published; width"
                    ),
                    method="ours",
                    measured=(
                        f"{share(int(rows[:, 2].sum()), len(rows))}; {measured:.2%}; {said:.2%}; {width:.2%}"
                    ),
                    wanted="at least 95 %",
                    met=covered >= 0.95 - 2 * math.sqrt(0.95 * 0.05 / len(rows)),
                )


def mean_figures(repeats: int, seed: int) -> Iterator[Figure]:
    for kind in KINDS:
        held = []
        for boots in (5, 7, 10, 21):
            generator = np.random.default_rng([seed, boots, KINDS.index(kind)])
            covered = 0
            for _ in range(repeats):
                base, head = (family(generator, kind, _MEAN_ROWS, boots, SPREAD) for _ in range(2))
                mean = mean_ratio(base, head, level=0.99, generator=generator)
                covered += mean.low is not None and mean.high is not None and mean.low <= 1 <= mean.high
            held.append(covered / repeats)
        slack = 2 * math.sqrt(0.99 * 0.01 / repeats)
        yield Figure(
            bar="means",
            what=f"{kind}: the 99 % interval of a geometric mean has the truth, 5 7 10 21 boots",
            method="ours",
            measured=" ".join(f"{100 * each:.1f}" for each in held) + " %",
            wanted="98.5 to 99.5 %",
            met=all(0.985 - slack <= each <= 0.995 + slack for each in held),
        )
