"""Derives the resolution of a printed number from its digits, for formats that do not declare it."""

import re
from collections.abc import Collection, Mapping, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from cliffwatch.parsers.readings import Found

_Row = tuple[object, ...]

_NUMBER = re.compile(r"[+-]?\d*(?:\.(?P<decimals>\d*))?(?:[eE](?P<power>[+-]?\d{1,3}))?")
_MOST_DECIMALS = 400
"""1e-400 is 0 as a float already, so further decimals need no step of their own."""

_COUNTED = re.compile(
    r"(?:^|[^a-z])(?:allocs?|b|bytes|insns?|instructions|cycles|misses|faults|errors|drops)(?:/|$)"
)


TRUNCATED_UNITS = frozenset({"B/op"})
"""Units whose whole numbers are truncated means.

Go divides the bytes of all iterations by their number (testing.BenchmarkResult). It truncates allocations
too, but an operation makes a whole number of them.
"""


def step_of(text: str, unit: str) -> float:
    """Returns the step of the last printed digit.

    0 for counted whole numbers, which are exact, and for text that is not a number.
    The step of `0.034` in any unit is 0.001, of `123` ns/op or B/op it is 1, and of `12` allocs/op it is 0.
    """
    number = _NUMBER.fullmatch(text)
    if number is None:
        return 0.0
    decimals, power = number.groups()
    if decimals is None and _is_counted(unit):
        return 0.0
    return _power_of_ten((int(power) if power else 0) - (len(decimals) if decimals else 0))


def steps_of(texts: Sequence[str], units: Sequence[str], unit_of: NDArray[np.intp]) -> NDArray[np.float64]:
    """Like `step_of`, for many finite numbers.

    `unit_of`, (texts,), is the index in `units` of each number's unit.
    """
    together = "\n".join(texts).encode()
    if together.translate(None, b"0123456789.\n"):
        return np.array(
            [step_of(text, units[unit]) for text, unit in zip(texts, unit_of.tolist(), strict=True)]
        )
    data = np.frombuffer(together, dtype=np.uint8)
    ends = np.append(np.flatnonzero(data == ord("\n")), len(data))
    points = np.flatnonzero(data == ord("."))
    pointed = np.searchsorted(ends, points)
    decimals = np.minimum(ends[pointed] - points - 1, _MOST_DECIMALS)
    steps = np.where([_is_counted(unit) for unit in units], 0.0, 1.0)[unit_of]
    steps[pointed] = np.array([_power_of_ten(-count) for count in range(decimals.max(initial=0) + 1)])[
        decimals
    ]
    return steps


def _is_counted(unit: str) -> bool:
    return unit not in TRUNCATED_UNITS and _COUNTED.search(unit.lower()) is not None


@cache
def _power_of_ten(exponent: int) -> float:
    return float(f"1e{exponent}")


def with_finest_steps(found: Sequence[Found]) -> tuple[Found, ...]:
    """Gives all samples of a metric its finest step: a tool that drops trailing zeros prints 0.500 as 0.5.

    Samples with a known boot keep their own steps.
    """
    finest: dict[_Row, float] = {}
    mixed: set[_Row] = set()
    for each in found:
        step = each.sample.resolution
        if each.origin is None and step:
            row = _row(each)
            known = finest.setdefault(row, step)
            if step != known:
                mixed.add(row)
                finest[row] = min(known, step)
    if not mixed:
        return tuple(found)
    return tuple(_with_finest(each, finest, mixed) for each in found)


def finest_steps(steps: NDArray[np.float64], starts: NDArray[np.intp]) -> NDArray[np.float64]:
    """Like `with_finest_steps`, for columns. The steps of row r are `steps[starts[r]:starts[r + 1]]`."""
    known = np.where(steps > 0, steps, np.inf)
    finest = np.minimum.reduceat(known, starts[:-1]) if len(known) else known
    return np.where(steps > 0, np.repeat(finest, np.diff(starts)), 0.0)


def _with_finest(found: Found, finest: Mapping[_Row, float], mixed: Collection[_Row]) -> Found:
    if found.origin is not None or not found.sample.resolution:
        return found
    row = _row(found)
    return found._replace(sample=found.sample._replace(resolution=finest[row])) if row in mixed else found


def _row(found: Found) -> _Row:
    return found.arm, found.sample.case, found.sample.metric, found.sample.unit
