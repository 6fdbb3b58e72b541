"""The kinds of line that the kernel's `bench` prints, one module each.

Sources: the functions report_progress and report_final of tools/testing/selftests/bpf/bench.c and benchs/*.c,
linux 6.12 and newer. Lines are parsed by kind, not by benchmark, so unknown benchmarks are read too.

Each module of this package defines `KIND` and is found automatically. Forms are tried in the order of the
module names, so no line may match two kinds.
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
