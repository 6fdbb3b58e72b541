"""Families unlike those that the method was made with: other noise, arms that differ in more than their
centre, changes of many rows.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np

from calibrate.families import MARGIN, METRICS, PLANS, SPREAD, counted, published
from calibrate.figures import Figure, share
from calibrate.noise import Values
from cliffwatch.stats.boot_values import boot_values
from cliffwatch.stats.deciding import Decision, StagedValues, decide_fixed, decide_staged
from cliffwatch.stats.stages import Stages

Arms = tuple[Values, Values]
Draw = Callable[[np.random.Generator, int, int], Arms]
"""Logs of both arms, (metrics, boots) each, of equal medians, for so many boots of base and of head."""

FIXED = "21 boots in one stage"


def _same(noise: Callable[[np.random.Generator, tuple[int, int]], Values]) -> Draw:
    """Both arms of one noise."""
    return lambda generator, n, m: (noise(generator, (METRICS, n)), noise(generator, (METRICS, m)))


def _heavy(generator: np.random.Generator, shape: tuple[int, int]) -> Values:
    return np.asarray(generator.standard_t(3, shape) * SPREAD / np.sqrt(3))


def _tenfold(generator: np.random.Generator, shape: tuple[int, int]) -> Values:
    return np.asarray(generator.normal(0, SPREAD, shape) + np.log(10) * (generator.random(shape) < 0.1))


def _in_blocks(generator: np.random.Generator, shape: tuple[int, int]) -> Values:
    """Ten blocks of twenty metrics that share four fifths of their variance."""
    shared = np.repeat(generator.normal(0, SPREAD * np.sqrt(0.8), (shape[0] // 20, shape[1])), 20, axis=0)
    return np.asarray(shared + generator.normal(0, SPREAD * np.sqrt(0.2), shape))


def printed(generator: np.random.Generator, n: int, m: int, shift: float = 0.0) -> Arms:
    """Values of about 0.034 that are printed with three decimals, head's shifted before."""
    base, head = (0.034 * np.exp(generator.normal(0, SPREAD, (METRICS, boots))) for boots in (n, m))
    return np.log(np.round(base, 3)), np.log(np.round(head * np.exp(shift), 3))


def serial(generator: np.random.Generator, n: int, m: int, shift: float = 0.0) -> Arms:
    """Each boot takes over three tenths of the one before it, whichever arm that was of."""
    noise = generator.normal(0, SPREAD * np.sqrt(1 - 0.3**2), (METRICS, n + m))
    noise[:, 0] /= np.sqrt(1 - 0.3**2)
    for boot in range(1, n + m):
        noise[:, boot] += 0.3 * noise[:, boot - 1]
    places = generator.permutation(np.arange(n + m) % 2 if n == m else np.arange(n + m) >= n)
    return noise[:, places == 0], noise[:, places == 1] + shift


def _gauss(generator: np.random.Generator, boots: int, wider: float = 1.0) -> Values:
    return generator.normal(0, SPREAD * wider, (METRICS, boots))


def _tailed(generator: np.random.Generator, n: int, m: int) -> Arms:
    """The slower half of head's boots is twice as far from the median."""
    head = _gauss(generator, m)
    return _gauss(generator, n), np.where(head > 0, 2 * head, head)


def _exponential(generator: np.random.Generator, n: int, m: int) -> Arms:
    return _gauss(generator, n), generator.exponential(SPREAD, (METRICS, m)) - SPREAD * np.log(2)


def _wider(generator: np.random.Generator, n: int, m: int, *, base: float = 1.0, head: float = 1.0) -> Arms:
    return _gauss(generator, n, base), _gauss(generator, m, head)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Odd:
    """`bar` is the share of families in which anything may be published; `boots` those of a plan of one
    stage.
    """

    name: str
    draw: Draw
    bar: float
    boots: tuple[int, int] = (21, 21)
    staged: bool = True


ODD = (
    _Odd(name="t with 3 degrees of freedom", draw=_same(_heavy), bar=0.015),
    _Odd(name="boots that take after the one before (0.3)", draw=serial, bar=0.015),
    _Odd(name="one boot in ten tenfold", draw=_same(_tenfold), bar=0.015),
    _Odd(name="blocks of metrics that move together", draw=_same(_in_blocks), bar=0.015),
    _Odd(name="0.034 printed with three decimals", draw=printed, bar=0.015),
    _Odd(name="head twice as noisy", draw=partial(_wider, head=2.0), bar=0.02),
    _Odd(name="head with a tail, its slower half stretched", draw=_tailed, bar=0.02),
    _Odd(name="head with a tail, exponential", draw=_exponential, bar=0.02),
    _Odd(
        name="10 against 21 boots, the smaller arm twice as noisy",
        draw=partial(_wider, base=2.0),
        bar=0.02,
        boots=(10, 21),
        staged=False,
    ),
)


def decided_staged(
    generator: np.random.Generator, draw: Draw, moved: Values, stages: Stages
) -> list[Decision]:
    """`moved` are the shifts of the metrics, logs; confirming boots are drawn anew."""
    boots = stages.looks[-1].boots
    first, fresh = draw(generator, stages.screen, stages.screen), draw(generator, boots, boots)
    rows = [
        StagedValues(
            screened=boot_values(first[0][row], first[1][row] + moved[row]),
            confirming=boot_values(fresh[0][row], fresh[1][row] + moved[row]),
        )
        for row in range(METRICS)
    ]
    return decide_staged(rows, stages, margin=MARGIN)


def decided_at_once(
    generator: np.random.Generator, draw: Draw, moved: Values, boots: tuple[int, int]
) -> list[Decision]:
    base, head = draw(generator, *boots)
    rows = [boot_values(ours, theirs + shift) for ours, theirs, shift in zip(base, head, moved, strict=True)]
    return decide_fixed(rows, margin=MARGIN, alpha=0.01)


def _wrong(seed: int, number: int, plan: str) -> bool:
    odd, generator, still = ODD[number], np.random.default_rng([seed, number]), np.zeros(METRICS)
    if plan == FIXED:
        return any(map(published, decided_at_once(generator, odd.draw, still, odd.boots)))
    return any(map(published, decided_staged(generator, odd.draw, still, PLANS[plan])))


def odd_figures(seeds: range, pool: ProcessPoolExecutor) -> Iterator[Figure]:
    """How often anything is published of families of which every median is what it was."""
    for number, odd in enumerate(ODD):
        for plan in (FIXED, *(PLANS if odd.staged else ())):
            wrong = counted(partial(_wrong, number=number, plan=plan), seeds, pool)
            yield Figure(
                bar="odd",
                what=f"{odd.name}, {plan}: anything published of nothing",
                method="ours",
                measured=share(wrong, len(seeds)),
                wanted=f"at most {100 * odd.bar:g} %",
                met=wrong <= odd.bar * len(seeds),
            )


def _broad(seed: int, plan: str) -> tuple[bool, float]:
    """Of sixty rows moved by 3 %: whether anything is published of the others, and the share that is
    detected.
    """
    generator = np.random.default_rng([seed, 60])
    moved = np.where(np.arange(METRICS) < 60, np.log1p(0.03), 0.0)
    draw = partial(_wider)
    decisions = (
        decided_at_once(generator, draw, moved, (21, 21))
        if plan == FIXED
        else decided_staged(generator, draw, moved, PLANS[plan])
    )
    return any(map(published, decisions[60:])), float(np.mean([published(each) for each in decisions[:60]]))


def broad_figures(seeds: range, pool: ProcessPoolExecutor) -> Iterator[Figure]:
    for plan in (FIXED, *PLANS):
        outcomes = list(pool.map(partial(_broad, plan=plan), seeds, chunksize=10))
        wrong = sum(each for each, _ in outcomes)
        yield Figure(
            bar="broad",
            what=f"60 of 200 rows moved by 3 %, {plan}: anything published of the others; detected of them",
            method="ours",
            measured=f"{share(wrong, len(seeds))}; {np.mean([power for _, power in outcomes]):.1%}",
            wanted="at most 1.5 %",
            met=wrong <= 0.015 * len(seeds),
        )
