"""The metrics that the user's own suites declare: a part of run.json, and a setting of exported files."""

import json
from collections.abc import Iterable, Mapping
from typing import Annotated

from msgspec import Meta

from cliffwatch.formats.reading import as_json, read_as
from cliffwatch.formats.values import LARGEST_PLAN, Name, Part, Share, Text, copy_fields
from cliffwatch.parsers.readings import Problem
from cliffwatch.samples import Arm, Assume, Better, MetricTraits

Declared = dict[tuple[str, str, str], MetricTraits]
"""By suite, benchmark and metric."""


class DeclaredTraits(Part, frozen=True, kw_only=True):
    """What a suite declares about a benchmark's metric, in the mode it was measured in."""

    suite: Name
    benchmark: Name
    metric: Name
    better: Better | None
    primary: bool
    assume: Assume
    repeatability: Share = 0.0
    empty_loop: Text = ""
    """Benchmark that runs its loop alone; empty if none does."""

    @property
    def traits(self) -> MetricTraits:
        return copy_fields(MetricTraits, self)


class DeclaredMetricRecord(DeclaredTraits, frozen=True, kw_only=True):
    """The declared traits of a benchmark's metric, with its unit, as in run.json."""

    unit: Name


class _Setting(Part, frozen=True, kw_only=True):
    metrics: Annotated[tuple[DeclaredTraits, ...], Meta(max_length=LARGEST_PLAN)]


def traits_by_metric(records: Iterable[DeclaredTraits]) -> Declared:
    return {(each.suite, each.benchmark, each.metric): each.traits for each in records}


def declared_setting(arms: Iterable[Arm]) -> str:
    """Formats the declarations of the arms' suites as one line of JSON. Empty if there are none."""
    declared = {key: traits for arm in arms for key, traits in arm.declared.items()}
    metrics = tuple(
        copy_fields(DeclaredTraits, traits, suite=suite, benchmark=benchmark, metric=metric)
        for (suite, benchmark, metric), traits in declared.items()
    )
    return json.dumps(as_json(_Setting(metrics=metrics))) if metrics else ""


def read_declared(settings: Mapping[str, str]) -> Declared:
    """Parses the setting `declared`. Empty if it is missing or cannot be read."""
    if "declared" not in settings:
        return {}
    read = read_as(settings["declared"].encode(), _Setting)
    return {} if isinstance(read, Problem) else traits_by_metric(read.metrics)
