"""The staged plan where placement moves a kernel: the screen in some layouts, each further boot in a new one.

Beside it, the same plan in one layout of each kernel, which cannot see placement.
"""

from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from calibrate.figures import Figure, share
from cliffwatch.comparing.compare import compare
from cliffwatch.comparing.comparison import CHANGES, ComparisonSet
from cliffwatch.comparing.thresholds import Method
from cliffwatch.samples import Arm, Boot, CaseKey, MetricTraits, Sample
from cliffwatch.stats.stages import ADAPTIVE

ROWS = 20
PLANTED = 0.06
SPREADS = (0.0, 0.005, 0.02, 0.05)
"""Standard deviations between layouts, logs."""
LAYOUTS = (1, 4, 8, 10)
"""Of each kernel in the screen."""
NOISE = 0.006
"""Standard deviation between boots of a layout, log."""
_LAST = ADAPTIVE.looks[-1].boots


@dataclass(frozen=True, slots=True)
class Outcome:
    """Of one family, whose first row has a planted change."""

    false: bool
    """An unchanged row is reported."""
    detected: bool
    boots: int
    """Of each kernel, both stages."""
    covered: int
    """Rows whose interval holds the truth, of those with an interval."""
    levels: tuple[float, ...]
    """Of the intervals."""


def _traits(*_: object) -> MetricTraits:
    return MetricTraits(better="lower", assume="nothing")


def _case(row: int) -> CaseKey:
    return CaseKey("made", f"row-{row}")


def _boots(
    name: str, generator: np.random.Generator, spread: float, layouts: int, change: float
) -> list[Boot]:
    """All boots that the plan may ask for: the screen's, then those of the last look, in turn over the layouts."""
    placed = generator.normal(0, spread, (ROWS, layouts + (_LAST if layouts > 1 else 0)))
    placed[0] += np.log1p(change)
    made = []
    for number in range(ADAPTIVE.screen + _LAST):
        confirms = number >= ADAPTIVE.screen
        fresh = confirms and layouts > 1
        layout = layouts + number - ADAPTIVE.screen if fresh else number % layouts
        values = 1000 * np.exp(placed[:, layout] + generator.normal(0, NOISE, ROWS))
        made.append(
            Boot(
                index=number,
                block=number,
                stage="confirm" if confirms else "screen",
                layout=f"{name}-{layout}" if layouts > 1 else None,
                samples=tuple(
                    Sample(case=_case(row), metric="latency", unit="ns/op", value=value)
                    for row, value in enumerate(values.tolist())
                ),
            )
        )
    return made


def _arm(name: str, boots: Sequence[Boot], open_rows: Sequence[Collection[CaseKey]]) -> Arm:
    """The arm with a boot of the second stage for each set of rows that were open when it was made."""
    further = boots[ADAPTIVE.screen : ADAPTIVE.screen + len(open_rows)]
    seen = [
        replace(boot, samples=tuple(each for each in boot.samples if each.case in rows))
        for boot, rows in zip(further, open_rows, strict=True)
    ]
    return Arm(
        name=name, label=name, mode="walltime", platform="made", boots=(*boots[: ADAPTIVE.screen], *seen)
    )


def _decided(base: Sequence[Boot], head: Sequence[Boot]) -> tuple[ComparisonSet, int]:
    """The comparison that the plan ends with, and its boots of the second stage."""
    method, open_rows = Method(stages=ADAPTIVE), list[Collection[CaseKey]]()
    while True:
        compared = compare(_arm("base", base, open_rows), _arm("head", head, open_rows), _traits, method)
        assert isinstance(compared, ComparisonSet)
        more = compared.next_look - len(open_rows)
        if not compared.waiting or more <= 0:
            return compared, len(open_rows)
        open_rows += [{case.planned for case in compared.waiting}] * more


def outcome(seed: int, spread: float, layouts: int) -> Outcome:
    generator = np.random.default_rng((45, seed, layouts, round(1000 * spread)))
    base = _boots("base", generator, spread, layouts, 0.0)
    head = _boots("head", generator, spread, layouts, PLANTED)
    compared, look = _decided(base, head)
    rows = {row.benchmark: row for row in compared.rows}
    others = [rows[f"row-{number}"] for number in range(1, ROWS)]
    held = [
        (each.ci_low <= 0 <= each.ci_high, each.interval_level)
        for each in others
        if each.ci_low is not None and each.ci_high is not None and each.interval_level is not None
    ]
    return Outcome(
        false=any(each.verdict in CHANGES for each in others),
        detected=rows["row-0"].verdict in CHANGES,
        boots=ADAPTIVE.screen + look,
        covered=sum(holds for holds, _ in held),
        levels=tuple(level for _, level in held),
    )


def staged_layout_figures(seeds: range, pool: ProcessPoolExecutor) -> Iterator[Figure]:
    """By the layouts' spread, and their number in the screen."""
    for spread in SPREADS:
        for layouts in LAYOUTS:
            one = partial(outcome, spread=spread, layouts=layouts)
            yield from _figures(list(pool.map(one, seeds, chunksize=8)), spread, layouts)


def _figures(outcomes: Sequence[Outcome], spread: float, layouts: int) -> Iterator[Figure]:
    families, ours = len(outcomes), layouts > 1
    method = "ours" if ours else "one layout"
    what = f"staged, layouts spread by {spread:.1%}, {layouts} in the screen"
    wrong = sum(each.false for each in outcomes)
    limit = 0.01 * families + 3 * (0.01 * families) ** 0.5
    yield Figure(
        bar="staged",
        what=f"{what}: anything reported of nothing",
        method=method,
        measured=share(wrong, families),
        wanted="at most 1.5 %",
        met=wrong <= max(0.015 * families, limit) if ours else None,
    )
    levels = [level for each in outcomes for level in each.levels]
    if levels:
        covered, nominal = sum(each.covered for each in outcomes) / len(levels), float(np.mean(levels))
        yield Figure(
            bar="staged",
            what=f"{what}: intervals that hold the truth, of {nominal:.1%} nominally",
            method=method,
            measured=f"{covered:.2%}",
            wanted="at most 2 % fewer",
            met=covered >= nominal - 0.02 if ours else None,
        )
    mean_boots = sum(each.boots for each in outcomes) / families
    yield Figure(
        bar="staged",
        what=f"{what}: a change of {PLANTED:.0%} detected, with {mean_boots:.0f} boots on average",
        method=method,
        measured=share(sum(each.detected for each in outcomes), families),
        wanted="",
        met=None,
    )
