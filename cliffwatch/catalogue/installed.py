"""Questions to the installed catalogue.

It is read on the first question about one of its own benchmarks, so files of other benchmarks are compared
without it.
"""

from cliffwatch.catalogue.folder import may_have
from cliffwatch.catalogue.unknown import traits_of_unknown
from cliffwatch.samples import CaseKey, MetricTraits, Mode


def suite_of(benchmark: str) -> str | None:
    """See `Catalogue.suite_of`."""
    if not may_have(benchmark):
        return None
    from cliffwatch.catalogue.load import load_catalogue  # noqa: PLC0415 - seventeen files, for our own benchmarks alone

    return load_catalogue().suite_of(benchmark)


def rename_case(case: CaseKey) -> CaseKey:
    """The case under the present name of its benchmark."""
    if not may_have(case.benchmark):
        return case
    from cliffwatch.catalogue.load import load_catalogue  # noqa: PLC0415 - as above

    name = load_catalogue().renamed(case.suite, case.benchmark)
    return case if name is None else case._replace(benchmark=name)


def traits(case: CaseKey, metric: str, unit: str, mode: Mode | None) -> MetricTraits:
    """See `Catalogue.traits`."""
    if not may_have(case.benchmark):
        return traits_of_unknown(metric, unit)
    from cliffwatch.catalogue.load import load_catalogue  # noqa: PLC0415 - as above

    return load_catalogue().traits(case, metric, unit, mode)
