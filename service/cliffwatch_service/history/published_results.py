"""Published results (published/README.md) as reference lines beside a series."""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

from cliffwatch_service.store.series import SeriesRow

_PARAMETERS = {"nr_keys": "hashmap_nr_keys_used", "num_maps": "nr_maps"}
"""Parameters that the published tables name differently, with their names in `bench`."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A published value."""

    label: str
    """Its source."""
    value: float
    """In the unit of the series."""
    platform: str | None
    """None if the source does not say which machine."""


def _read_published(name: str) -> list[dict[str, str]]:
    """Returns the rows of a published table."""
    text = (resources.files("cliffwatch_service.history") / "published" / name).read_text()
    return list(csv.DictReader(text.splitlines()))


@cache
def _index_results() -> Mapping[tuple[str, str, str, str], tuple[Reference, ...]]:
    """Returns the published values by benchmark, parameter, value of the parameter, and unit."""
    by_case: dict[tuple[str, str, str, str], list[Reference]] = {}

    def add(row: Mapping[str, str], label: str, value: str, platform: str | None) -> None:
        parameter = _PARAMETERS.get(row["param"], row["param"])
        key = (row["benchmark"], parameter, row["value"], "ns/op")
        by_case.setdefault(key, []).append(Reference(label, float(value), platform))

    for row in _read_published("local-storage-2022-skylake.csv"):
        if row["run"] == "measured":
            add(row, "published 2022, Skylake (73087489250d)", row["latency_ns"], "intel-skylake")
    for row in _read_published("local-storage-2024-inline-lookup.csv"):
        if row["metric"] == "hits latency":
            add(row, "published 2024, before inlining the lookup", row["before"], None)
            add(row, "published 2024, after inlining the lookup", row["after"], None)
    return {key: tuple(values) for key, values in by_case.items()}


def references(series: SeriesRow) -> tuple[Reference, ...]:
    """Returns the published values that fit a series.

    They have its benchmark, parameter and unit, were measured in walltime, and on a machine of its platform
    or on an unknown machine.
    """
    params = dict(series.params)
    if series.mode != "walltime" or len(params) != 1:
        return ()
    (name, value), *_ = params.items()
    published = _index_results().get((series.benchmark, name, value, series.unit), ())
    return tuple(each for each in published if each.platform in (None, series.platform))
