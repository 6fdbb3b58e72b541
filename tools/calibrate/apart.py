"""Sides that did not take turns: false reports on drifting noise of several shapes, and the power that
allowing for drift costs.
"""

import math
from collections.abc import Callable, Iterator
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
from cliffwatch.stats.boot_values import boot_values
from cliffwatch.stats.deciding import decide_fixed
from cliffwatch.stats.ranks import two_samples

ROWS, BOOTS = 200, 21
PLANTED = (0.02, 0.05, 0.10)
FEW_ROWS, FEW_BOOTS = (1, 5, 20), 10
_SPREAD, _UNLIKE = 0.006, 1.0
"""The median spread of a row, and the standard deviation of its log: nine in ten rows have 0.2 to 2.2 %, as
on real hosts.
"""

_DRIFTING = (1.0, 0.1, 0.01)
"""Shares of rows that drift; a family has one of them."""

_STRENGTHS = (1.0, 30.0)
"""How far drift moves sides apart, in standard errors of their difference by noise; log-uniform, one a
family.
"""

Drift = Callable[[np.random.Generator, Values, int], Values]
"""Drift at the places of boots 0, 1, … of so many rows: (rows, boots)."""


def _walk(generator: np.random.Generator, places: Values, rows: int) -> Values:
    return np.cumsum(generator.normal(size=(rows, len(places))), axis=1)


def _correlated(generator: np.random.Generator, places: Values, rows: int) -> Values:
    """Correlated over about twenty boots."""
    drift, keep = generator.normal(size=(rows, len(places))), 0.95
    for boot in range(1, len(places)):
        drift[:, boot] = keep * drift[:, boot - 1] + math.sqrt(1 - keep**2) * drift[:, boot]
    return drift


def _ramp(generator: np.random.Generator, places: Values, rows: int) -> Values:
    return np.asarray(generator.normal(size=(rows, 1)) * places)


def _step(generator: np.random.Generator, places: Values, rows: int) -> Values:
    """One step at any boot."""
    return np.asarray(
        generator.normal(size=(rows, 1)) * (places >= generator.integers(1, len(places), (rows, 1)))
    )


def _regimes(generator: np.random.Generator, places: Values, rows: int) -> Values:
    """Two levels, each kept for fifteen boots on average."""
    changes = generator.random((rows, len(places))) < 1 / 15
    return np.asarray(np.cumsum(changes, axis=1) % 2 * generator.normal(size=(rows, 1)))


def _wave(generator: np.random.Generator, places: Values, rows: int) -> Values:
    """A cycle of 20 to 200 boots, one for all rows; each row has its own phase."""
    period = math.exp(generator.uniform(math.log(20), math.log(200)))
    return np.sin(2 * np.pi * (places / period + generator.random((rows, 1))))


def _common_walk(generator: np.random.Generator, places: Values, rows: int) -> Values:
    return generator.uniform(0.5, 1.5, (rows, 1)) * _walk(generator, places, 1)


def _common_step(generator: np.random.Generator, places: Values, rows: int) -> Values:
    return generator.uniform(0.5, 1.5, (rows, 1)) * _step(generator, places, 1)


SHAPES: dict[str, Drift | None] = {
    "white noise": None,
    "a random walk": _walk,
    "correlation over 20 boots": _correlated,
    "a ramp": _ramp,
    "a step": _step,
    "two regimes": _regimes,
    "a daily cycle": _wave,
    "a walk of all rows": _common_walk,
    "a step of all rows": _common_step,
}


def _family(generator: np.random.Generator, shape: Drift | None, rows: int, boots: int) -> Values:
    """Logs of an unchanged program, (rows, twice `boots`) in the order of time; the first half
    becomes base.
    """
    places = np.arange(2.0 * boots)
    spreads = _SPREAD * np.exp(generator.normal(0, _UNLIKE, (rows, 1)))
    noise = generator.normal(size=(rows, len(places)))
    if shape is None:
        return np.asarray(spreads * noise)
    drift = shape(generator, places, rows)
    halves = drift[:, boots:].mean(axis=1) - drift[:, :boots].mean(axis=1)
    if not drift.any():
        return np.asarray(spreads * noise)
    typical = max(float(np.sqrt((halves**2).mean())), 0.1 * float(drift.std())) / math.sqrt(2 / boots)
    strength = math.exp(generator.uniform(*np.log(_STRENGTHS)))
    common = shape in (_common_walk, _common_step)
    drifting = common | (generator.random((rows, 1)) < generator.choice(_DRIFTING))
    units = np.median(spreads) if common else spreads
    return np.asarray(spreads * noise + units * drift * drifting * strength / typical)


def _arm(name: str, logs: Values) -> Arm:
    cases = [CaseKey("made", f"row-{row}") for row in range(len(logs))]
    values = (1000 * np.exp(logs.T)).tolist()
    return Arm(
        name=name,
        label=name,
        mode="walltime",
        platform="made",
        boots=tuple(
            Boot(
                index=number,
                block=number,
                samples=tuple(
                    Sample(case=case, metric="latency", unit="ns/op", value=value)
                    for case, value in zip(cases, of_boot, strict=True)
                ),
            )
            for number, of_boot in enumerate(values)
        ),
    )


def _traits(*_: object) -> MetricTraits:
    return MetricTraits(better="lower", assume="nothing")


def changed(base: Values, head: Values) -> list[bool]:
    """Which rows a report of two files reports as changed."""
    compared = compare(_arm("base", base), _arm("head", head), _traits, Method(one_run=False))
    assert isinstance(compared, ComparisonSet)
    return [row.verdict in CHANGES for row in compared.rows]


@dataclass(frozen=True, slots=True)
class _Outcome:
    """Whether a report has a change in any row but those with a planted one: by drift and noise, by noise
    alone, by a rank test at 5 %; and which planted changes it has.
    """

    ours: bool
    noise_alone: bool
    rank_test: bool
    detected: tuple[bool, ...]
    detected_by_noise_alone: tuple[bool, ...]


def _noise_alone(base: Values, head: Values) -> list[bool]:
    rows = [boot_values(*row) for row in zip(base, head, strict=True)]
    return [each.outcome == "changed" for each in decide_fixed(rows, margin=0.01, alpha=0.01)]


def _outcome(seed: int, shape: str) -> _Outcome:
    generator = np.random.default_rng((38, list(SHAPES).index(shape), seed))
    logs = _family(generator, SHAPES[shape], ROWS, BOOTS)
    base, head = logs[:, :BOOTS], logs[:, BOOTS:]
    rows = generator.choice(ROWS, len(PLANTED), replace=False)
    head[rows] += np.log1p(np.array(PLANTED))[:, None]
    found, by_noise, by_ranks = (
        changed(base, head),
        _noise_alone(base, head),
        two_samples(base, head).p() <= 0.05,
    )
    others = np.setdiff1d(np.arange(ROWS), rows).tolist()
    return _Outcome(
        ours=any(found[row] for row in others),
        noise_alone=any(by_noise[row] for row in others),
        rank_test=bool(by_ranks[others].any()),
        detected=tuple(found[row] for row in rows),
        detected_by_noise_alone=tuple(by_noise[row] for row in rows),
    )


def apart_figures(seeds: range, pool: ProcessPoolExecutor) -> Iterator[Figure]:
    """Half of the runs of a host as base, the half after it as head."""
    sizes = ", ".join(f"{100 * size:g}" for size in PLANTED)
    for shape in SHAPES:
        outcomes = list(pool.map(partial(_outcome, shape=shape), seeds, chunksize=5))
        methods = {
            "ours": ([each.ours for each in outcomes], [each.detected for each in outcomes]),
            "noise alone, as of sides that took turns": (
                [each.noise_alone for each in outcomes],
                [each.detected_by_noise_alone for each in outcomes],
            ),
            "rank test at 5 %, as benchstat": ([each.rank_test for each in outcomes], []),
        }
        for method, (wrong, detected) in methods.items():
            ours, count = method == "ours", len(outcomes)
            power = " ".join(f"{100 * sum(column) / count:.0f}" for column in zip(*detected, strict=True))
            yield Figure(
                bar="sides apart",
                what=(
                    f"{shape}: anything false reported among {ROWS - len(PLANTED)}; a change of {sizes} % of"
                    " one row each reported"
                ),
                method=method,
                measured=share(sum(wrong), count) + (f"; {power} %" if power else ""),
                wanted="at most 5 %; reported" if ours else "",
                met=sum(wrong) <= 0.05 * count if ours else None,
            )


def _few(seed: int, shape: str, rows: int) -> tuple[bool, bool]:
    """Whether a report of few rows has a change where there is none, and one of its first row that has the
    largest planted one.
    """
    generator = np.random.default_rng((39, list(SHAPES).index(shape), seed, rows))
    logs = _family(generator, SHAPES[shape], rows, FEW_BOOTS)
    base, head = logs[:, :FEW_BOOTS], logs[:, FEW_BOOTS:]
    wrong = any(changed(base, head))
    head[0] += math.log1p(PLANTED[-1])
    return wrong, changed(base, head)[0]


def few_figures(seeds: range, pool: ProcessPoolExecutor) -> Iterator[Figure]:
    """The same of reports that have few rows to learn from how a host drifts."""
    for shape in SHAPES:
        for rows in FEW_ROWS:
            outcomes = list(pool.map(partial(_few, shape=shape, rows=rows), seeds, chunksize=50))
            wrong, count = sum(false for false, _ in outcomes), len(outcomes)
            power = 100 * sum(detected for _, detected in outcomes) / count
            yield Figure(
                bar="sides apart",
                what=(
                    f"{shape}, {'1 row' if rows == 1 else f'{rows} rows'}, {FEW_BOOTS} boots a side: anything"
                    " false reported; a change of 10 % reported"
                ),
                method="ours",
                measured=f"{share(wrong, count)}; {power:.0f} %",
                wanted="at most 5 %; reported",
                met=wrong <= 0.05 * count,
            )
