"""Converts values to the time of one operation, and times to instructions for icount.

Under icount the guest's clock advances one nanosecond per instruction. As long as the guest does not sleep, a
time on its clock is therefore a number of instructions.
"""

import re

INSTRUCTIONS = "insns/op"
"""The primary metric under icount, and its unit: instructions per operation."""

DROPS = "drops/op"
"""The unit of dropped operations under icount. In walltime drops are a rate per second."""

_TIME = re.compile(r"(ns|us|µs|ms|s|insns)/(\S+)")
_RATE = re.compile(r"([kMG]?) ?(\S*)/(?:s|sec)")
_NANOSECONDS = {"insns": 1.0, "ns": 1.0, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9}
_SCALES = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9}


def nanoseconds(value: float, unit: str) -> float | None:
    """Converts a time per operation, or a rate, to nanoseconds per operation.

    Under icount these are instructions.

    Returns None if the unit is neither a time per operation nor a rate, or if the value is not positive.
    """
    if not value > 0:
        return None
    if match := _TIME.fullmatch(unit):
        return value * _NANOSECONDS[match[1]]
    if match := _RATE.fullmatch(unit):
        return 1e9 / (value * _SCALES[match[1]])
    return None


def is_rate(unit: str) -> bool:
    """True if the unit is a rate per second, such as `M ops/s`."""
    return _RATE.fullmatch(unit) is not None


def rate_of(unit: str) -> str | None:
    """Returns what a rate counts, `operations` or `bytes`; None if the unit is no rate per second."""
    match = _RATE.fullmatch(unit)
    return None if match is None else "bytes" if match[2] == "B" else "operations"


def is_rate_of_bytes(unit: str) -> bool:
    match = _RATE.fullmatch(unit)
    return match is not None and match[2] == "B"


def as_instructions(metric: str, unit: str) -> tuple[str, str] | None:
    """Returns metric and unit under icount for a time per operation: `ns/op` becomes `insns/op`.

    None if the unit is not a time per operation.
    """
    match = _TIME.fullmatch(unit)
    if match is None:
        return None
    counted = f"insns/{match[2]}"
    return (counted if metric == unit else metric), counted
