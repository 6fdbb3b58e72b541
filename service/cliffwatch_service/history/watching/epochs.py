"""Where the epochs of a series begin, and what of its environment changed there."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any

from psycopg import Connection

from cliffwatch.samples import Mode
from cliffwatch_service.ingest.environments import epoch_differences
from cliffwatch_service.ingest.free_form import make_showable
from cliffwatch_service.store import runs
from cliffwatch_service.store.history.points import PointRow

_MOST = 50
"""Newest beginnings that are described: each needs the environments of two runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochBegin:
    """The first point of an epoch. No step is reported across it."""

    commit: str
    at: datetime
    differences: list[str]
    """What changed. Empty if the facts that are stored do not say."""


def find_epoch_begins(
    connection: Connection[Any], points: Sequence[PointRow], mode: Mode
) -> list[EpochBegin]:
    """`points` are in the order in which they are drawn."""
    begins = [(before, point) for before, point in pairwise(points) if before.epoch != point.epoch][-_MOST:]
    facts = runs.facts_of_runs(connection, [point.run for pair in begins for point in pair])
    return [
        EpochBegin(
            commit=point.commit,
            at=point.at,
            differences=epoch_differences(
                make_showable(facts[before.run]), make_showable(facts[point.run]), mode
            ),
        )
        for before, point in begins
    ]
