"""The kinds of line that the kernel's `bench` prints, one module each.

Source: report_progress and report_final functions of tools/testing/selftests/bpf/bench.c and benchs/*.c,
linux 6.12 and newer. Parsing goes by kind, so that a benchmark nobody has heard of is read as well.

A module of this package that has a `KIND` is a kind: there is no list to add it to. Forms are tried in the
order of the modules' names, so no line may be of two kinds.
"""

import importlib
import pkgutil
from collections.abc import Mapping

from cliffwatch.parsers.bench.kind import Kind, MetricShape


def _kinds() -> tuple[Kind, ...]:
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    return tuple(importlib.import_module(f"{__name__}.{name}").KIND for name in names)


KINDS: Mapping[str, Kind] = {kind.name: kind for kind in _kinds()}

KIND_METRICS: Mapping[str, Mapping[str, MetricShape]] = {name: kind.metrics for name, kind in KINDS.items()}
