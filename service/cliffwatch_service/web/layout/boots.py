"""The values of every boot of both arms on one axis: dots, and from ten boots on their distribution."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from cliffwatch_service.web.layout.drawing import Dot


@dataclass(frozen=True, slots=True)
class Strip:
    """All samples of one arm on a line."""

    name: str
    dots: tuple[Dot, ...]
    median: float
    """X coordinate."""
    n: int
    """Number of samples."""
    shares: str
    """SVG path of the share of boots up to each value (ECDF); empty if any arm has fewer than ten boots."""


STRIP_WIDTH, STRIP_HEIGHT = 560, 34
_EDGE = 10
SHARES_HEIGHT = 110
_FEWEST_BOOTS = 10
"""Boots of each arm from which on their distribution is drawn: more dots than that hide each other."""


def strips(arms: Sequence[tuple[str, Sequence[tuple[float, str]]]]) -> tuple[list[Strip], float, float]:
    """Draws arms, given their values and titles, on one axis. Also returns its least and largest value."""
    values = [value for _, samples in arms for value, _ in samples]
    low, high = min(values), max(values)
    span = (high - low) or abs(high) or 1.0

    def x_of(value: float) -> float:
        return round(_EDGE + (value - low) / span * (STRIP_WIDTH - 2 * _EDGE), 1)

    many = all(len(samples) >= _FEWEST_BOOTS for _, samples in arms)
    drawn = []
    for name, samples in arms:
        ordered = sorted(value for value, _ in samples)
        if ordered:
            middle = (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2
            shares = _shares([x_of(value) for value in ordered]) if many else ""
            drawn.append(Strip(name, tuple(_dots(samples, x_of)), x_of(middle), len(ordered), shares))
    return drawn, low, high


def _dots(samples: Sequence[tuple[float, str]], x_of: Any) -> Iterable[Dot]:
    """Stacks nearby values, six high, so that none hides another."""
    seen: dict[int, int] = {}
    for value, title in sorted(samples):
        x = x_of(value)
        level = seen.get(int(x / 4), 0)
        seen[int(x / 4)] = level + 1
        yield Dot(x, STRIP_HEIGHT - 6 - 5 * (level % 6), title, "")


def _shares(xs: Sequence[float]) -> str:
    """Returns the path that climbs by one share at each value, from none of the boots to all of them."""
    path = f"M0 {SHARES_HEIGHT}"
    for climbed, x in enumerate(xs, start=1):
        path += f"H{x:g}V{SHARES_HEIGHT * (1 - climbed / len(xs)):.1f}"
    return f"{path}H{STRIP_WIDTH}"
