"""An arm for each value of a knob: `sweep=n=0..10` in an arm whose name and words have `{n}`."""

import re
from collections.abc import Mapping

from cliffwatch.formats.values import MOST_ARMS

KEY = "sweep"
_VARIABLE = re.compile(r"[a-z][a-z0-9_]{0,19}", re.ASCII)
_RANGE = re.compile(r"(\d{1,9})\.\.(\d{1,9})", re.ASCII)


def swept(arm: Mapping[str, object]) -> list[Mapping[str, object]] | str:
    """The arms that an arm with a sweep stands for, in the order of its values, and itself without one; or what is wrong with the sweep."""
    sweep = arm.get(KEY)
    if sweep is None:
        return [arm]
    if not isinstance(sweep, dict) or len(sweep) != 1:
        return "sweep names one knob and its values, such as sweep=n=0..10"
    ((variable, written),) = sweep.items()
    if not isinstance(variable, str) or not _VARIABLE.fullmatch(variable) or not isinstance(written, str):
        return f"sweep={variable}={written} is none such as n=0..10 or n=0,2,5,10"
    values = _values(written)
    if not 1 <= len(values) < MOST_ARMS or not all(values):
        return f"sweep={variable}={written} is none such as n=0..10 or n=0,2,5,10, of at most {MOST_ARMS - 1} values"
    if f"{{{variable}}}" not in str(arm.get("name")):
        return f"its arms need names of their own: put {{{variable}}} into the name"
    without = {name: value for name, value in arm.items() if name != KEY}
    return [{name: _with(value, variable, each) for name, value in without.items()} for each in values]


def _values(written: str) -> list[str]:
    ends = _RANGE.fullmatch(written)
    if ends is None:
        return [each.strip() for each in written.split(",")]
    first, last = int(ends[1]), int(ends[2])
    return [str(each) for each in range(first, min(last + 1, first + MOST_ARMS))]


def _with(value: object, variable: str, chosen: str) -> object:
    """A value with the knob's in it, wherever it stands."""
    if isinstance(value, str):
        return value.replace(f"{{{variable}}}", chosen)
    if isinstance(value, (list, tuple)):
        return [_with(each, variable, chosen) for each in value]
    if isinstance(value, dict):
        return {_with(name, variable, chosen): _with(each, variable, chosen) for name, each in value.items()}
    return value
