"""Sweeps of known shape: how often a break is named where there is none, and how often it is placed right
where there is one.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np

from calibrate.figures import Figure
from calibrate.noise import Values
from cliffwatch.stats.curves.breakpoints import Breakpoint, NoBreakpoint, find_breakpoint

NOISES = (0.01, 0.02, 0.05)
"""Standard deviations, as fractions: of a boot where points have boots, else of a point."""

LEAST = {"5 to 21 boots a point": (0.9, 0.9, 0.8), "one value a point": (0.9, 0.8, 0.0)}
"""The share of breaks that are placed right at each of `NOISES`."""

Edges = tuple[tuple[float, float], ...]
"""Of each true break the logs of the parameters between which it lies; alike where it lies at one."""

Draw = Callable[[np.random.Generator, Values], tuple[Values, Edges]]


def _climb(generator: np.random.Generator, x: Values) -> Values:
    """A straight course: level in half of the curves, else a slope of up to 0.3."""
    return x * (generator.random() < 0.5) * generator.uniform(0, 0.3)


def _bend(generator: np.random.Generator, x: Values) -> tuple[Values, Edges]:
    corner = generator.uniform(x[2], x[-3])
    slope = generator.uniform(0.3, 1.0)
    return _climb(generator, x) + slope * np.maximum(0.0, x - corner), ((corner, corner),)


def _height(generator: np.random.Generator) -> float:
    """Of 20 to 100 %."""
    return float(np.exp(generator.uniform(np.log(np.log(1.2)), np.log(np.log(2.0)))))


def _jumps(generator: np.random.Generator, x: Values, count: int, back: bool = False) -> tuple[Values, Edges]:
    """With two points at least on every piece."""
    first = int(generator.integers(2, len(x) - 1 - 3 * (count - 1)))
    places = [first, *(int(generator.integers(first + 3, len(x) - 1)) for _ in range(count - 1))]
    heights = [_height(generator) for _ in places]
    if back:
        heights[1] = -heights[0]
    y = _climb(generator, x)
    for place, height in zip(places, heights, strict=True):
        y = y + height * (np.arange(len(x)) >= place)
    return y, tuple((float(x[place - 1]), float(x[place])) for place in places)


def _quarter(generator: np.random.Generator, x: Values) -> tuple[Values, Edges]:
    place = int(generator.integers(3, len(x) - 2))
    return np.log(1.25) * (np.arange(len(x)) >= place), ((float(x[place - 1]), float(x[place])),)


def _flat(_: np.random.Generator, x: Values) -> tuple[Values, Edges]:
    return np.zeros_like(x), ()


def _straight(generator: np.random.Generator, x: Values) -> tuple[Values, Edges]:
    return generator.uniform(0.1, 1.0) * x, ()


def _outlier(generator: np.random.Generator, x: Values) -> tuple[Values, Edges]:
    y = _climb(generator, x)
    y[generator.choice([0, -1])] += _height(generator)
    return y, ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """`draw` gives a curve's logs and its breaks; `broken` is whether it has any."""

    name: str
    draw: Draw
    broken: bool = True


SHAPES = (
    Shape(name="flat", draw=_flat, broken=False),
    Shape(name="climbs all the way", draw=_straight, broken=False),
    Shape(name="first or last point 20 to 100 % too slow", draw=_outlier, broken=False),
    Shape(name="a bend by 0.3 to 1", draw=_bend),
    Shape(name="a jump by 20 to 100 %", draw=partial(_jumps, count=1)),
    Shape(name="a jump by 25 %", draw=_quarter),
    Shape(name="two jumps by 20 to 100 %", draw=partial(_jumps, count=2)),
    Shape(name="a plateau and back", draw=partial(_jumps, count=2, back=True)),
)


def curve(
    seed: tuple[int, ...], shape: int, noise: float, booted: bool
) -> tuple[Values, Values, Values | None, Edges]:
    """Parameters, costs, standard errors and the truth of a sweep of 9 to 12 points, each parameter 1.3 to 3
    times the one before.
    """
    generator = np.random.default_rng(seed)
    points = int(generator.integers(9, 13))
    x = np.cumsum(generator.uniform(np.log(1.3), np.log(3), points))
    y, edges = SHAPES[shape].draw(generator, x)
    if not booted:
        return np.exp(x), np.exp(y + generator.normal(0, noise, points)), None, edges
    boots = int(generator.integers(5, 22))
    values = np.exp(y[:, None] + generator.normal(0, noise, (points, boots)))
    errors = np.sqrt(np.pi / 2 / boots) * values.std(axis=1, ddof=1) / values.mean(axis=1)
    return np.exp(x), np.median(values, axis=1), errors, edges


def outcome(found: Breakpoint | NoBreakpoint, edges: Edges) -> str:
    """`none`, `right` where every break is named within its interval and nothing else is, `part` where some
    are, else `wrong`.
    """
    if isinstance(found, NoBreakpoint):
        return "none"
    named = [(np.log(each.low) - 1e-9, np.log(each.high) + 1e-9) for each in (found, *found.further)]
    met = [any(low <= left and right <= high for left, right in edges) for low, high in named]
    if not all(met):
        return "wrong"
    return "right" if len(named) == len(edges) else "part"


def _outcome(seed: int, shape: int, noise: int, booted: bool) -> str:
    x, y, errors, edges = curve((seed, shape, noise, booted), shape, NOISES[noise], booted)
    return outcome(find_breakpoint(x, y, errors), edges)


def cliff_figures(seeds: range, pool: ProcessPoolExecutor) -> Iterator[Figure]:
    for boots, least in LEAST.items():
        for number, shape in enumerate(SHAPES):
            counts = []
            for noise in range(len(NOISES)):
                one = partial(_outcome, shape=number, noise=noise, booted="boots" in boots)
                counts.append(Counter(pool.map(one, seeds, chunksize=max(1, len(seeds) // 40))))
            what = f"{shape.name}, {boots}, noise of 1, 2, 5 %"
            yield (
                _placed(what, counts, len(seeds), least) if shape.broken else _false(what, counts, len(seeds))
            )


def _false(what: str, counts: list[Counter[str]], curves: int) -> Figure:
    named = [curves - each["none"] for each in counts]
    return Figure(
        bar="cliffs",
        what=f"{what}: a break named",
        method="ours",
        measured=_shares(named, curves),
        wanted="at most 1.5 %",
        met=max(named) <= 0.015 * curves,
    )


def _placed(what: str, counts: list[Counter[str]], curves: int, least: tuple[float, ...]) -> Figure:
    right, wrong = ([each[kind] for each in counts] for kind in ("right", "wrong"))
    return Figure(
        bar="cliffs",
        what=f"{what}: every break placed right; one placed wrong",
        method="ours",
        measured=f"{_shares(right, curves)}; {_shares(wrong, curves)}",
        wanted="at least " + ", ".join(f"{each:.0%}" for each in least if each),
        met=all(count >= each * curves for count, each in zip(right, least, strict=True)),
    )


def _shares(counts: list[int], of: int) -> str:
    return ", ".join(f"{100 * count / of:.1f}" for count in counts) + f" % of {of}"
