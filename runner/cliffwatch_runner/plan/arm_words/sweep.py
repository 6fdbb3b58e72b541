"""Parameter sweeps: `sweep=n=0..10` makes one arm per value and replaces `{n}` in its name and words."""

import re
from collections.abc import Mapping

from cliffwatch.failure import Failure, wrong_usage
from cliffwatch.formats.values import MOST_ARMS

KEY = "sweep"
_VARIABLE = re.compile(r"[a-z][a-z0-9_]{0,19}", re.ASCII)
_SUCH_AS = "give one such as sweep=n=0..10 or sweep=n=0,2,5,10"
_RANGE = re.compile(r"(-?\d{1,9})\.\.(-?\d{1,9})", re.ASCII)
_LIKE_A_RANGE = re.compile(r"-?\w{1,40}\.\.-?\w{1,40}", re.ASCII)


def expand_sweep(arm: Mapping[str, object]) -> list[Mapping[str, object]] | Failure:
    """Expands an arm with a sweep into one arm per value, in the order of the values.

    An arm without a sweep is returned alone.
    """
    sweep = arm.get(KEY)
    if sweep is None:
        return [arm]
    if not isinstance(sweep, dict) or len(sweep) != 1:
        return wrong_usage("sweep names one knob and its values", "give one such as sweep=n=0..10")
    ((variable, written),) = sweep.items()
    if not isinstance(variable, str) or not _VARIABLE.fullmatch(variable) or not isinstance(written, str):
        return wrong_usage(f"sweep={variable}={written} is not a sweep", _SUCH_AS)
    values = _values(written)
    if not 1 <= len(values) < MOST_ARMS or not all(values):
        wrong = f"needs 1 to {MOST_ARMS - 1} values" if values else "is no rising range of whole numbers"
        return wrong_usage(f"sweep={variable}={written} {wrong}", _SUCH_AS)
    if f"{{{variable}}}" not in str(arm.get("name")):
        return wrong_usage("each arm of the sweep needs its own name", f"put {{{variable}}} into the name")
    without = {name: value for name, value in arm.items() if name != KEY}
    return [{name: _with(value, variable, each) for name, value in without.items()} for each in values]


def _values(written: str) -> list[str]:
    """Returns the values; none of a range whose ends are no whole numbers."""
    ends = _RANGE.fullmatch(written)
    if ends is None and _LIKE_A_RANGE.fullmatch(written):
        return []
    if ends is None:
        return [each.strip() for each in written.split(",")]
    first, last = int(ends[1]), int(ends[2])
    return [str(each) for each in range(first, min(last + 1, first + MOST_ARMS))]


def _with(value: object, variable: str, chosen: str) -> object:
    """Replaces the variable in a value, at any depth."""
    if isinstance(value, str):
        return value.replace(f"{{{variable}}}", chosen)
    if isinstance(value, (list, tuple)):
        return [_with(each, variable, chosen) for each in value]
    if isinstance(value, dict):
        return {_with(name, variable, chosen): _with(each, variable, chosen) for name, each in value.items()}
    return value
