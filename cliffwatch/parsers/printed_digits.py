"""How fine a step the digits of a printed number can show, where its format does not say."""

import re
from collections.abc import Sequence

from cliffwatch.parsers.readings import Value

_NUMBER = re.compile(r"[+-]?\d*(?:\.(?P<decimals>\d*))?(?:[eE](?P<power>[+-]?\d{1,3}))?")
_COUNTED = re.compile(r"(?:^|[^a-z])(?:allocs?|b|bytes|insns?|instructions|cycles|misses|faults|errors|drops)(?:/|$)")


def step_of(text: str, unit: str) -> float:
    """One unit of the last digit; 0 of what was counted: its whole numbers are no rounding, and other text has no digits.

    `0.034` of anything steps by 0.001, `123` of ns/op by 1, `12` of allocs/op not at all.
    """
    number = _NUMBER.fullmatch(text)
    if number is None:
        return 0.0
    decimals = number["decimals"]
    if decimals is None and _COUNTED.search(unit.lower()):
        return 0.0
    return float(f"1e{int(number['power'] or 0) - len(decimals or '')}")


def with_finest_steps(values: Sequence[Value]) -> tuple[Value, ...]:
    """Each value with the finest step of its metric: a tool that leaves zeros away at the end printed 0.5 no coarser than 0.483.

    Values whose boot is known come with steps of their own.
    """
    finest: dict[tuple[object, ...], float] = {}
    rows = [_row(value) if value.origin is None and value.resolution else None for value in values]
    for row, value in zip(rows, values, strict=True):
        if row is not None:
            finest[row] = min(value.resolution, finest.get(row, value.resolution))
    return tuple(
        value if row is None or value.resolution == finest[row] else value._replace(resolution=finest[row])
        for row, value in zip(rows, values, strict=True)
    )


def _row(value: Value) -> tuple[object, ...]:
    return value.arm, value.suite, value.benchmark, tuple(value.params.items()), value.metric, value.unit
