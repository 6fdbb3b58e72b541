"""Sparklines: the values of a row over the releases, as a line of SVG."""

from collections.abc import Sequence

from markupsafe import Markup

_WIDTH, _HEIGHT, _EDGE = 72, 20, 3
_LEAST_SHARE = 0.02
"""Least range of the axis, as a share of the largest value: a smaller change looks flat."""

_FRAME = Markup(
    '<svg class="spark" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">'
    "<title>{label}</title>{drawn}</svg>"
)


def sparkline(numbers: Sequence[float | None], label: str) -> Markup:
    """Draws the known values; empty without two of them. The lowest of the axis is not zero."""
    known = [number for number in numbers if number is not None]
    if len(known) < 2:
        return Markup("")
    low, high = min(known), max(known)
    room = max(high - low, _LEAST_SHARE * max(abs(high), abs(low))) or 1.0
    middle = (high + low) / 2
    step = (_WIDTH - 2 * _EDGE) / max(len(numbers) - 1, 1)
    points = [
        (_EDGE + step * place, _HEIGHT / 2 - (number - middle) / room * (_HEIGHT - 2 * _EDGE))
        for place, number in enumerate(numbers)
        if number is not None
    ]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    x, y = points[-1]
    drawn = f'<polyline points="{line}"/><circle cx="{x:.1f}" cy="{y:.1f}" r="2"/>'
    return _FRAME.format(width=_WIDTH, height=_HEIGHT, label=label, drawn=Markup(drawn))  # noqa: S704 - numbers that were formatted here
