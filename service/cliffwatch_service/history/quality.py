"""Quality of the regression reports.

How many of the judged reports are real, how many planted steps the reports find, and how soon.
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
    """Precision, recall and delay of the regression reports."""

    reports: dict[ReportState, int]
    """Number of reports in each state."""
    judged: int
    """Reports that are no longer `new`."""
    noise: float | None
    """Share of the judged reports that are noise; None without judged reports."""
    precision: float | None
    """Share of the judged reports that are real; None without judged reports."""
    planted: int
    """Number of planted steps."""
    found: int
    """Planted steps that a report names as its culprit."""
    recall: float | None
    """Share of the planted steps that are found; None without planted steps."""
    seconds_to_detection: float | None
    """Median time from planting to the report; None if no planted step is found."""


def quality(connection: Connection[Any]) -> ReportQuality:
    return quality_of(reports.report_quality(connection), planted.planted_steps(connection))


def quality_of(counts: Mapping[ReportState, int], steps: Sequence[PlantedRow]) -> ReportQuality:
    """Computes the quality from the number of reports in each state and the planted steps. Pure."""
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
