"""The breakpoint of a sweep: the parameter value from which on a cost climbs.

A continuous curve of two straight pieces in log-log space against one straight piece. The breakpoint comes from least
squares (Hinkley, Journal of the American Statistical Association 66, 1971), that there is one from an F-test at `SURE`; the
interval is of measured parameters, from the points that the first piece does not explain. Points carry the noise of their
boots; a sweep of one boot is judged by its residuals, never below `GRAIN`.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cliffwatch.stats.rank_tables import Values

SURE = 0.01
GRAIN = 0.01
"""Unevenness, as a fraction, that every real curve has: page sizes, alignment, cache geometry."""

LEAST_SLOPE = 0.1
"""The change of slope that is worth a word: doubling the parameter costs 7 % more than before."""

FEWEST = 5
_GRID = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Breakpoint:
    """Up to the measured parameter `low` the curve keeps its first course, by `high` it has surely left it.

    Slopes are of log cost over log parameter: 0 is flat, 1 proportional. `step` is how much the cost at `high` lies above
    (or below) the first course, as a fraction; `p` that there is no breakpoint.
    """

    low: float
    high: float
    step: float
    slope_before: float
    slope_after: float
    p: float


@dataclass(frozen=True, slots=True, kw_only=True)
class NoBreakpoint:
    """Why no breakpoint is named."""

    reason: str


def find_breakpoint(parameters: Values, costs: Values, spreads: Values | None = None) -> Breakpoint | NoBreakpoint:
    """Of a sweep: positive parameters and costs, (points,); `spreads` are standard errors as fractions of the costs."""
    order = np.argsort(parameters)
    x, y = np.log(parameters[order]), np.log(costs[order])
    if len(np.unique(x)) < FEWEST:
        return NoBreakpoint(reason=f"too few points for a breakpoint: {len(np.unique(x))}, and {FEWEST} are the least")
    noise = np.full_like(x, GRAIN) if spreads is None else np.hypot(spreads[order], GRAIN)
    position, coefficients, p = _sharpest(x, y, noise)
    if p > SURE:
        return NoBreakpoint(reason=f"one straight line in log space fits as well (p = {p:.2g})")
    if abs(coefficients[2]) < LEAST_SLOPE:
        return NoBreakpoint(reason=f"its slope changes by {coefficients[2]:+.2f} only")
    left = _departure(x, y, noise, position, float(np.sign(coefficients[2])))
    if left is None:
        return NoBreakpoint(reason="the points before the breakpoint are too uneven to say where it is")
    low, high, step = left
    return Breakpoint(
        low=float(parameters[order][low]),
        high=float(parameters[order][high]),
        step=float(np.expm1(step)),
        slope_before=float(coefficients[1]),
        slope_after=float(coefficients[1] + coefficients[2]),
        p=p,
    )


def _sharpest(x: Values, y: Values, noise: Values) -> tuple[float, Values, float]:
    """The best breakpoint of two pieces that meet, its coefficients, and the F-test's p against one piece."""
    straight, _ = _fit(np.column_stack([np.ones_like(x), x]), y, noise)
    positions = np.linspace(x[1], x[-2], _GRID)
    fits = [_fit(_stick(x, position), y, noise) for position in positions]
    best = int(np.argmin([misfit for misfit, _ in fits]))
    misfit, coefficients = fits[best]
    from scipy import special  # noqa: PLC0415 - half a second to load, for sweeps alone

    freedom = max(1, len(x) - 4)
    p = float(special.fdtrc(2, freedom, (straight - misfit) / 2 / max(1.0, misfit / freedom)))
    return float(positions[best]), coefficients, p


def _departure(x: Values, y: Values, noise: Values, position: float, sign: float) -> tuple[int, int, float] | None:
    """The last point on the first course, the first surely off it, and by how much; in the direction of `sign`.

    On the course is what lies no higher than the points before it; off it what no further point of the course would reach
    nineteen times in twenty.
    """
    from scipy import special  # noqa: PLC0415 - see above

    count = max(2, int((x <= position + 1e-9).sum()))
    rest = sign * (y - _course(x, y, count))
    while count < len(x) and rest[count] <= rest[:count].max() + noise[count]:
        count += 1
    if count == len(x):
        return None
    spread = max(float(rest[:count].std(ddof=1)), float(noise[:count].mean()))
    reach = -float(special.stdtrit(count - 1, 0.025)) * spread * np.sqrt(1 + 1 / count)
    off = np.flatnonzero(rest[count:] - rest[:count].mean() > reach)
    if len(off) == 0:
        return None
    high = count + int(off[0])
    return count - 1, high, sign * float(rest[high] - rest[:count].mean())


def _course(x: Values, y: Values, count: int) -> Values:
    """The line through the first points, level where its slope is not worth a word or two points make it."""
    slope = float(np.polyfit(x[:count], y[:count], 1)[0]) if count > 2 else 0.0
    return np.asarray(slope * x if abs(slope) >= LEAST_SLOPE else np.zeros_like(x))


def _stick(x: Values, position: float) -> Values:
    return np.column_stack([np.ones_like(x), x, np.maximum(0.0, x - position)])


def _fit(design: Values, y: Values, noise: Values) -> tuple[float, NDArray[np.float64]]:
    """The weighted sum of squared residuals and the coefficients."""
    coefficients, *_ = np.linalg.lstsq(design / noise[:, None], y / noise, rcond=None)
    return float((((y - design @ coefficients) / noise) ** 2).sum()), np.asarray(coefficients, dtype=float)
