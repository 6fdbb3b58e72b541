"""Local storages created per second, and allocations per creation, which linux 7.3 no longer prints."""

from collections.abc import Sequence

from cliffwatch.parsers.bench.averages import mean_of
from cliffwatch.parsers.bench.kind import BenchOutput, Kind, LineForm, MetricShape, MetricValues, Reading
from cliffwatch.parsers.bench.patterns import ITER, NUMBER, PLUS_MINUS, name_groups


def _values(output: BenchOutput, kept: Sequence[Reading]) -> MetricValues:
    yield from mean_of(output, kept, "creates", "creates")
    yield from mean_of(output, kept, "creates-per-producer", "per_prod")
    yield from mean_of(output, kept, "kmallocs", "kmallocs", step=0.01)


KIND = Kind(
    name="local-storage-create",
    metrics={
        "creates": MetricShape("k ops/s", "higher", primary=True),
        "creates-per-producer": MetricShape("k ops/s", "higher"),
        "kmallocs": MetricShape("kmallocs/create", "lower"),
    },
    forms=(
        LineForm(
            "iter",
            name_groups(
                rf"{ITER}creates\s+{NUMBER}\s*k/s\s*\(\s*{NUMBER}\s*k/prod\),\s*{NUMBER}\s*kmallocs/create",
                *("creates", "per_prod", "kmallocs"),
            ),
        ),
        LineForm(
            "summary",
            name_groups(
                rf"Summary:\s*creates\s+{NUMBER}{PLUS_MINUS}k/s\s*\(\s*{NUMBER}\s*k/prod\),\s*{NUMBER}"
                rf"\s*kmallocs/create",
                *("creates", "_", "per_prod", "kmallocs"),
            ),
        ),
        LineForm(
            "iter",
            name_groups(
                rf"{ITER}creates\s+{NUMBER}\s*k/s\s*\(\s*{NUMBER}\s*k/prod\)", *("creates", "per_prod")
            ),
        ),
        LineForm(
            "summary",
            name_groups(
                rf"Summary:\s*creates\s+{NUMBER}{PLUS_MINUS}k/s\s*\(\s*{NUMBER}\s*k/prod\),\s*{NUMBER}"
                rf"\s*total",
                *("creates", "_", "per_prod", "_"),
            ),
        ),
        LineForm(
            "failure",
            r"(?:socket\(\)|pthread_create\(\)) errors (?P<errors>\d+) create_errs (?P<create>\d+)\s*$",
        ),
    ),
    values=_values,
    rate="creates",
)
