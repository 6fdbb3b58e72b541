"""A time budget: what the first stage of a plan says will be detectable, beside what then was.

Each run has rows whose variance components differ by a factor of two around the given ones. The first stage
and the boots that it chooses are simulated, and compared as a run is.
"""

import statistics
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from typing import NamedTuple

import numpy as np

from calibrate.figures import Figure, share
from cliffwatch.comparing.compare import compare
from cliffwatch.comparing.comparison import ComparisonSet
from cliffwatch.comparing.thresholds import Method
from cliffwatch.comparing.variances import measure_noise
from cliffwatch.counting import count_noun
from cliffwatch.samples import Arm, Boot, CaseKey, MetricTraits, Sample
from cliffwatch.stats.boot_values import boot_values
from cliffwatch.stats.deciding import decide_fixed
from cliffwatch.stats.power.budget import Budget, Costs, Repetitions, Variances, first_stage
from cliffwatch.stats.power.detectable import detectable

ARMS = ("base", "head", "control")
DURATION = 3
"""Seconds that a case measures in the first stage."""
NEAR = 1.3
"""Factor by which a prediction may be wrong."""
_LAYOUTS, _DRAWS, _HALVINGS, _POWER = (8, 12, 20, 40, 80), 300, 7, 0.8


class Host(NamedTuple):
    """Noise and costs of a host: standard deviations of logs, seconds."""

    name: str
    layout: float
    boot: float
    reading: float
    rows: int
    minutes: int
    link: float = 30
    start: float = 10
    """Of a boot, without its cases."""
    case: float = 4
    """Of a case, without what it measures."""
    long_tail: bool = False
    """Noise of boots and readings is of Student's t with four degrees of freedom."""
    lucky: bool = False
    """Layouts are of Student's t with three degrees of freedom: a few lie far off."""


HOSTS = (
    Host("layouts vary", 0.02, 0.004, 0.01, rows=1, minutes=20),
    Host("boots vary", 0.002, 0.02, 0.01, rows=1, minutes=20),
    Host("readings vary", 0.001, 0.002, 0.05, rows=1, minutes=20),
    Host("layouts vary", 0.02, 0.004, 0.01, rows=6, minutes=60),
    Host("boots vary", 0.002, 0.02, 0.01, rows=6, minutes=60),
    Host("readings vary", 0.001, 0.002, 0.05, rows=6, minutes=60),
    Host("links are dear", 0.004, 0.02, 0.02, rows=6, minutes=120, link=200),
    Host("boots are dear", 0.01, 0.01, 0.03, rows=6, minutes=120, start=60),
    Host("long tails", 0.01, 0.01, 0.02, rows=6, minutes=60, long_tail=True),
    Host("few layouts far off", 0.02, 0.004, 0.01, rows=1, minutes=20, lucky=True),
    Host("few layouts far off", 0.02, 0.004, 0.01, rows=6, minutes=60, lucky=True),
)


@dataclass(frozen=True, slots=True)
class _Outcome:
    rows: tuple[float, ...]
    """For each row: the predicted detectable change over that of its true variances."""
    ended: tuple[float, ...]
    """The same over what the run's report says at its end."""
    rest: Repetitions
    doubt: tuple[float, float]
    """Between which multiples of what is predicted a single row's truth is said to lie."""


def _draw(generator: np.random.Generator, host: Host, size: tuple[int, ...]) -> np.ndarray:
    drawn = generator.standard_t(4, size) / 2**0.5 if host.long_tail else generator.normal(0, 1, size)
    return np.asarray(drawn)


class _Measured:
    """Boots of the arms, as they are drawn."""

    def __init__(self, generator: np.random.Generator, host: Host) -> None:
        self._generator, self._host = generator, host
        self._scales = 2 ** generator.uniform(-1, 1, (3, host.rows))
        self._boots: dict[str, list[Boot]] = {name: [] for name in ARMS}
        self._layouts = 0

    def add(self, more: Repetitions) -> None:
        for _ in range(more.layouts):
            for name in ARMS:
                placed = self._host.layout * self._luck() * self._scales[0]
                for _ in range(more.boots):
                    self._boots[name].append(self._boot(name, placed, more.duration))
            self._layouts += 1

    def _luck(self) -> np.ndarray:
        """Where a layout has its code, with a standard deviation of one, row by row."""
        if self._host.lucky:
            return np.asarray(self._generator.standard_t(3, self._host.rows) / 3**0.5)
        return self._generator.normal(0, 1, self._host.rows)

    def _boot(self, name: str, placed: np.ndarray, readings: int) -> Boot:
        host, generator = self._host, self._generator
        of_boot = placed + host.boot * self._scales[1] * _draw(generator, host, (host.rows,))
        noise = host.reading * self._scales[2] * _draw(generator, host, (readings, host.rows))
        values = 1000 * np.exp(of_boot + noise)
        number = len(self._boots[name])
        return Boot(
            index=number,
            block=number,
            layout=f"{name}-{self._layouts}",
            samples=tuple(
                Sample(
                    case=CaseKey("made", f"row-{row}"),
                    metric="latency",
                    unit="ns/op",
                    value=float(of_row.mean()),
                    readings=tuple(of_row.tolist()),
                )
                for row, of_row in enumerate(values.T)
            ),
        )

    def variances(self, name: str) -> Variances:
        """The true ones of a row."""
        host, (layout, boot, reading) = self._host, self._scales[:, int(name.removeprefix("row-"))].tolist()
        return Variances((host.layout * layout) ** 2, (host.boot * boot) ** 2, (host.reading * reading) ** 2)

    def arms(self) -> list[Arm]:
        return [
            Arm(name=name, label=name, mode="walltime", platform="made", boots=tuple(boots))
            for name, boots in self._boots.items()
        ]


def _traits(*_: object) -> MetricTraits:
    return MetricTraits(better="lower", assume="nothing")


def _outcome(seed: int, host: Host) -> _Outcome:
    measured = _Measured(np.random.default_rng((443, seed, HOSTS.index(host))), host)
    start = host.start + host.rows * host.case
    costs = Costs(link=3 * host.link, boot=3 * start, second=3.0 * host.rows)
    first = first_stage(60 * host.minutes, costs, DURATION, host.rows)
    measured.add(first)
    noise = measure_noise(measured.arms(), 1, _traits)
    budget = Budget(
        rows=tuple(noise.rows.values()),
        alpha=noise.alpha,
        done=first,
        rate=noise.readings / DURATION,
        costs=costs,
    )
    rest = budget.spend(60 * host.minutes - first.layouts * costs.of_layout(first.boots, DURATION))
    measured.add(rest)
    base, head, control = measured.arms()
    compared = compare(base, head, _traits, Method(one_run=True), control=control)
    assert isinstance(compared, ComparisonSet)
    ended = {row.benchmark: float(np.log1p(row.mde)) for row in compared.rows if row.mde is not None}
    names = [key.case.benchmark for key in noise.rows]
    truth = budget._replace(rows=[measured.variances(name) for name in names])
    known = truth.detectable(rest)
    if host.lucky:
        known = [shift and shift * _of_lucky(first.layouts + rest.layouts, noise.alpha) for shift in known]
    pairs = list(zip(budget.detectable(rest), known, strict=True))
    return _Outcome(
        rows=tuple(ours / theirs for ours, theirs in pairs if ours and theirs),
        ended=tuple(
            ours / ended[name]
            for name, (ours, _) in zip(names, pairs, strict=True)
            if ours and ended.get(name)
        ),
        rest=rest,
        doubt=budget.doubt(len(ARMS)),
    )


def _of_lucky(layouts: int, alpha: float) -> float:
    """The shift that the tests detect where layouts have long tails, over that of normal noise."""
    numbers, shares = zip(*((number, _share_of_lucky(number, alpha)) for number in _LAYOUTS), strict=True)
    return float(np.interp(layouts, numbers, shares))


@cache
def _share_of_lucky(layouts: int, alpha: float) -> float:
    """By simulation: the shift found with a power of 0.8."""
    stated = detectable(1.0, layouts, layouts, alpha)
    if stated is None:
        return 1.0
    generator = np.random.default_rng((444, layouts))
    drawn = generator.standard_t(3, (_DRAWS, 2, layouts)) / 3**0.5

    def power(shift: float) -> float:
        decisions = (
            decide_fixed([boot_values(base, head + shift)], margin=0.0, alpha=alpha)[0]
            for base, head in drawn
        )
        return sum(decision.outcome == "changed" for decision in decisions) / _DRAWS

    low, high = 0.2 * stated, 1.6 * stated
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if power(middle) >= _POWER else (middle, high)
    return high / stated


def time_figures(seeds: range, pool: ProcessPoolExecutor) -> Iterator[Figure]:
    """By host."""
    for host in HOSTS:
        yield from _figures(list(pool.map(partial(_outcome, host=host), seeds, chunksize=8)), host)


def _figures(outcomes: Sequence[_Outcome], host: Host) -> Iterator[Figure]:
    layouts, boots, duration = (
        round(statistics.median(each)) for each in zip(*(one.rest for one in outcomes), strict=True)
    )
    host_words = f"{host.name}, {count_noun(host.rows, 'row')}, {host.minutes} min"
    yield Figure(
        bar="time",
        what=f"{host_words}: what the rest goes to, median",
        method="ours",
        measured=f"{layouts} layouts, {boots} boots each, {duration} s",
        wanted="",
        met=None,
    )
    what = f"{host_words}: detectable change predicted within a factor {NEAR}"
    right = sum(bool(each.rows) and _near(statistics.median(each.rows)) for each in outcomes)
    yield Figure(
        bar="time",
        what=f"{what}, in the median row",
        method="ours",
        measured=share(right, len(outcomes)),
        wanted="at least 80 %",
        met=right >= 0.8 * len(outcomes),
    )
    if host.rows == 1:
        held = sum(
            bool(each.rows) and each.doubt[0] <= 1 / each.rows[0] <= each.doubt[1] for each in outcomes
        )
        yield Figure(
            bar="time",
            what=f"{host_words}: detectable change within the range that is stated",
            method="ours",
            measured=share(held, len(outcomes)),
            wanted="at least 80 %",
            met=held >= 0.8 * len(outcomes),
        )
    for name, ratios in (
        ("of each row", [ratio for each in outcomes for ratio in each.rows]),
        ("of what each row reports at the end", [ratio for each in outcomes for ratio in each.ended]),
    ):
        yield Figure(
            bar="time",
            what=f"{what}, {name}",
            method="ours",
            measured=share(sum(map(_near, ratios)), len(ratios)) if ratios else "none",
            wanted="",
            met=None,
        )


def _near(ratio: float) -> bool:
    return 1 / NEAR <= ratio <= NEAR
