"""Copies the metrics that a user's own suites declare into run.json.

When runs are compared, no catalogue has these suites.
"""

from collections.abc import Sequence

from cliffwatch.catalogue.load import Catalogue
from cliffwatch.catalogue.suite import Suite
from cliffwatch.formats.arms.declared_metrics import DeclaredMetricRecord
from cliffwatch.parsers.per_operation import as_instructions
from cliffwatch.samples import CaseKey, Mode


def declared_metrics(suites: Sequence[Suite], mode: Mode) -> tuple[DeclaredMetricRecord, ...]:
    """Returns every metric of every benchmark as judged in this mode.

    Under icount, a time is replaced by the instructions that are computed from it.
    """
    records: list[DeclaredMetricRecord] = []
    for suite in suites:
        catalogue = Catalogue((suite,))
        for benchmark in suite.benchmarks:
            for metric, shape in suite.shapes(benchmark, mode).items():
                made = as_instructions(metric, shape.unit) if mode == "icount" else None
                if made is not None and made[0] != metric:
                    continue
                traits = catalogue.traits(CaseKey(suite.name, benchmark.name), metric, shape.unit, mode)
                records.append(
                    DeclaredMetricRecord(
                        suite=suite.name,
                        benchmark=benchmark.name,
                        metric=metric,
                        unit=shape.unit,
                        better=shape.better,
                        primary=traits.primary,
                        assume=traits.assume,
                        repeatability=traits.repeatability,
                        empty_loop=traits.empty_loop,
                    )
                )
    return tuple(records)
