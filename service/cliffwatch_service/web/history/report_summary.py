"""What a regression report says at a glance: what got worse and what got better, each case counted once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cliffwatch.catalogue.load import load_catalogue
from cliffwatch.samples import CaseKey, MetricTraits


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """How many series got worse and better, and by how much at most, as fractions; metrics that follow from others are counted
    in `derived` alone.
    """

    worse: int
    worst: float
    better: int
    best: float
    derived: int


def tally(changes: Sequence[Mapping[str, Any]]) -> Tally:
    """Of the changes of a report that are not refuted. Where none is of a metric that decides, all of them count."""
    standing = [change for change in changes if change["state"] != "refuted"]
    counted = primary_changes(standing)
    worse = [abs(change["size"]) for change in counted if change["kind"] == "regression"]
    better = [abs(change["size"]) for change in counted if change["kind"] == "improvement"]
    return Tally(
        worse=len(worse),
        worst=max(worse, default=0.0),
        better=len(better),
        best=max(better, default=0.0),
        derived=len(standing) - len(counted),
    )


def primary_changes(changes: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Those of metrics that decide the verdict of their case; all, where none of them does."""
    return [change for change in changes if _traits(change).primary] or list(changes)


def is_counted(change: Mapping[str, Any]) -> bool:
    """Whether the values of a change's series are counted, so that its bounds are the band in which they repeat."""
    return _traits(change).assume == "exact"


def _traits(change: Mapping[str, Any]) -> MetricTraits:
    case = CaseKey(change["suite"], change["benchmark"], tuple((name, value) for name, value in change["params"]))
    return load_catalogue().traits(case, change["metric"], change["unit"], change["mode"])
