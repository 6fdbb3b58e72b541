"""How good the reports are: how many of those that somebody judged are real, how many planted steps they
name, and how soon.
"""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from psycopg import Connection

from cliffwatch_service.history.triage import STATES
from cliffwatch_service.store.history import reports
from cliffwatch_service.store.history.news import planted
from cliffwatch_service.store.history.news.planted import PlantedRow
from cliffwatch_service.store.history.reports import ReportState


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportQuality:
    """How many reports there are in each state; of the `judged` ones the share that is noise and the share
    that is real; of the `planted` steps how many a report names as its culprit, their share, and the
    seconds from planting to the report, as a median. Shares and times are None while there is nothing that
    they are of.
    """

    reports: dict[ReportState, int]
    judged: int
    noise: float | None
    precision: float | None
    planted: int
    found: int
    recall: float | None
    seconds_to_detection: float | None


def quality(connection: Connection[Any]) -> ReportQuality:
    return quality_of(reports.report_quality(connection), planted.planted_steps(connection))


def quality_of(counts: Mapping[ReportState, int], steps: Sequence[PlantedRow]) -> ReportQuality:
    """Pure. A report that is new is not judged."""
    whole = dict.fromkeys(STATES, 0) | dict(counts)
    judged = sum(whole.values()) - whole["new"]
    noise = whole["noise"] / judged if judged else None
    waits = [(step.found - step.planted).total_seconds() for step in steps if step.found is not None]
    return ReportQuality(
        reports=whole,
        judged=judged,
        noise=noise,
        precision=None if noise is None else 1 - noise,
        planted=len(steps),
        found=len(waits),
        recall=len(waits) / len(steps) if steps else None,
        seconds_to_detection=statistics.median(waits) if waits else None,
    )
