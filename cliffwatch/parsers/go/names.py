"""Converts names and units of the Go benchmark format to cases and metrics.

Names and units that Cliffwatch wrote have a form of their own.
"""

import re
from functools import lru_cache
from urllib.parse import unquote

from cliffwatch.parsers.bench.kinds import KIND_METRICS
from cliffwatch.parsers.go.failures import PROCS
from cliffwatch.parsers.per_operation import DROPS, INSTRUCTIONS
from cliffwatch.samples import CaseKey

OURS = "BPF/bench="
_PROCS = re.compile(r"-(\d+)$")
_UNITS = (INSTRUCTIONS, DROPS, *(shape.unit for shapes in KIND_METRICS.values() for shape in shapes.values()))
_COMPACT = {unit.replace(" ", ""): unit for unit in _UNITS}


@lru_cache(maxsize=1 << 16)
def case_of(suite: str, name: str) -> CaseKey:
    """Converts a name to a case. The cache makes equal cases the same object."""
    procs = _PROCS.search(name)
    bare = name[: procs.start()] if procs else name
    if bare.startswith(OURS):
        benchmark, *parts = bare.removeprefix(OURS).split("/")
        pairs = (part.partition("=") for part in parts)
        params = {unquote(key): unquote(value) for key, _, value in pairs}
        return CaseKey(suite, unquote(benchmark), tuple(params.items()))
    return CaseKey(suite, bare, ((PROCS, procs[1]),) if procs else ())


@lru_cache(maxsize=4096)
def metric_of(unit: str) -> tuple[str, str]:
    """Splits a unit of the format into metric and unit. Cliffwatch writes them as `METRIC-UNIT`."""
    for compact, shown in _COMPACT.items():
        if unit.endswith(f"-{compact}"):
            return unit[: -len(compact) - 1], shown
    base = unit.rpartition("_")[2]
    return unit, base if base in _COMPACT else unit


def unit_of(metric: str, unit: str) -> str:
    """Joins metric and unit to a unit of the format: the inverse of `metric_of`."""
    return metric if metric == unit or metric.endswith(f"_{unit}") else f"{metric}-{unit.replace(' ', '')}"
