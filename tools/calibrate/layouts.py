"""Kernels measured in several layouts: false reports, intervals and power where placement moves a kernel.

Beside them, the plan of equal guest time in one layout of each kernel, which cannot see placement.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np

from calibrate.figures import Figure, share
from calibrate.noise import Values
from cliffwatch.comparing.compare import compare
from cliffwatch.comparing.comparison import CHANGES, ComparisonSet
from cliffwatch.comparing.thresholds import Method
from cliffwatch.samples import Arm, Boot, CaseKey, MetricTraits, Sample

ROWS, BOOTS = 20, 24
PLANTED = 0.06
SPREADS = (0.0, 0.005, 0.02, 0.05)
"""Standard deviations between layouts, logs."""
LAYOUTS = (1, 2, 4, 8, 24)
"""Per kernel, of 24 boots; 1 is the plan without layouts."""
_NOISE = 0.006


def _arm(name: str, logs: Values, layouts: int) -> Arm:
    """Boots take the layouts in turn."""
    boots = tuple(
        Boot(
            index=number,
            block=number,
            layout=f"{name}-{number % layouts}" if layouts > 1 else None,
            samples=tuple(
                Sample(case=CaseKey("made", f"row-{row}"), metric="latency", unit="ns/op", value=value)
                for row, value in enumerate(of_boot)
            ),
        )
        for number, of_boot in enumerate((1000 * np.exp(logs.T)).tolist())
    )
    return Arm(name=name, label=name, mode="walltime", platform="made", boots=boots)


def _logs(generator: np.random.Generator, spread: float, layouts: int) -> Values:
    """(rows, boots): each layout moves each row by a draw of its own."""
    placed = generator.normal(0, spread, (ROWS, layouts))
    return placed[:, np.arange(BOOTS) % layouts] + generator.normal(0, _NOISE, (ROWS, BOOTS))


@dataclass(frozen=True, slots=True)
class _Outcome:
    """Of one family, whose first row has a planted change."""

    false: bool
    """An unchanged row is reported."""
    detected: bool
    covered: int
    """Rows whose interval holds the truth, of those with an interval."""
    levels: tuple[float, ...]
    """Of the intervals."""


def _traits(*_: object) -> MetricTraits:
    return MetricTraits(better="lower", assume="nothing")


def _outcome(seed: int, spread: float, layouts: int) -> _Outcome:
    generator = np.random.default_rng((44, seed, layouts, round(1000 * spread)))
    base, head = (_logs(generator, spread, layouts) for _ in range(2))
    head[0] += np.log1p(PLANTED)
    compared = compare(
        _arm("base", base, layouts), _arm("head", head, layouts), _traits, Method(one_run=True)
    )
    assert isinstance(compared, ComparisonSet)
    rows = {row.benchmark: row for row in compared.rows}
    others = [rows[f"row-{number}"] for number in range(1, ROWS)]
    held = [
        (each.ci_low <= 0 <= each.ci_high, each.interval_level)
        for each in others
        if each.ci_low is not None and each.ci_high is not None and each.interval_level is not None
    ]
    return _Outcome(
        false=any(each.verdict in CHANGES for each in others),
        detected=rows["row-0"].verdict in CHANGES,
        covered=sum(holds for holds, _ in held),
        levels=tuple(level for _, level in held),
    )


def layout_figures(seeds: range, pool: ProcessPoolExecutor) -> Iterator[Figure]:
    """By the layouts' spread and number."""
    for spread in SPREADS:
        for layouts in LAYOUTS:
            one = partial(_outcome, spread=spread, layouts=layouts)
            yield from _figures(list(pool.map(one, seeds, chunksize=8)), spread, layouts)


def _figures(outcomes: Sequence[_Outcome], spread: float, layouts: int) -> Iterator[Figure]:
    families = len(outcomes)
    method = "one layout" if layouts == 1 else "ours"
    what = f"layouts spread by {spread:.1%}, {layouts} of {BOOTS} boots"
    wrong = sum(each.false for each in outcomes)
    limit = 0.01 * families + 3 * (0.01 * families) ** 0.5
    yield Figure(
        bar="layouts",
        what=f"{what}: anything reported of nothing",
        method=method,
        measured=share(wrong, families),
        wanted="at most 1.5 %",
        met=None if layouts == 1 else wrong <= max(0.015 * families, limit),
    )
    levels = [level for each in outcomes for level in each.levels]
    if levels:
        covered, nominal = sum(each.covered for each in outcomes) / len(levels), float(np.mean(levels))
        yield Figure(
            bar="layouts",
            what=f"{what}: intervals that hold the truth, of {nominal:.1%} nominally",
            method=method,
            measured=f"{covered:.2%}",
            wanted="at most 2 % fewer",
            met=None if layouts == 1 else covered >= nominal - 0.02,
        )
    yield Figure(
        bar="layouts",
        what=f"{what}: a change of {PLANTED:.0%} detected",
        method=method,
        measured=share(sum(each.detected for each in outcomes), families),
        wanted="",
        met=None,
    )
