"""What a value says of one operation: its time, and under icount its instructions.

The clock of a guest that counts instructions advances one nanosecond for each, so that a time of its clock
is a number of instructions as long as the guest does not sleep.
"""

import re

INSTRUCTIONS = "insns/op"
"""The metric that decides under icount, and its unit: instructions for each of a case's operations."""

DROPS = "drops/op"
"""The unit of what a consumer lost under icount, where walltime has drops a second."""

_TIME = re.compile(r"(ns|us|µs|ms|s|insns)/(\S+)")
_RATE = re.compile(r"([kMG]?) ?(\S*)/(?:s|sec)")
_NANOSECONDS = {"insns": 1.0, "ns": 1.0, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9}
_SCALES = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9}


def nanoseconds(value: float, unit: str) -> float | None:
    """What a value says of one operation's time, which under icount is its instructions; None of units that
    say nothing of operations.
    """
    if not value > 0:
        return None
    if match := _TIME.fullmatch(unit):
        return value * _NANOSECONDS[match[1]]
    if match := _RATE.fullmatch(unit):
        return 1e9 / (value * _SCALES[match[1]])
    return None


def is_rate(unit: str) -> bool:
    """Whether it is operations in a second."""
    return _RATE.fullmatch(unit) is not None


def is_rate_of_bytes(unit: str) -> bool:
    match = _RATE.fullmatch(unit)
    return match is not None and match[2] == "B"


def as_instructions(metric: str, unit: str) -> tuple[str, str] | None:
    """Metric and unit under icount of a time for an operation (`ns/op` becomes `insns/op`); None of any
    other.
    """
    match = _TIME.fullmatch(unit)
    if match is None:
        return None
    counted = f"insns/{match[2]}"
    return (counted if metric == unit else metric), counted
