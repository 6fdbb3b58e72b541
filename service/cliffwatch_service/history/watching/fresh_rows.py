"""Judges a candidate by its row of a fresh comparison."""

import math

from cliffwatch.formats.comparison import ComparisonRow
from cliffwatch.stats.history.fresh import Fresh, FreshAnswer, judge_fresh, next_boots


def judge_candidate(size: float, row: ComparisonRow, number: int) -> FreshAnswer:
    """Judges a candidate whose row the `number`-th fresh comparison (from 1) does not report.

    `size` is the candidate's, a fraction. A row of counted values, or without a change and its p-value,
    refutes the candidate.
    """
    fresh = _fresh(row)
    return "refuted" if fresh is None else judge_fresh(size, fresh, number)


def boots_of_second(size: float, row: ComparisonRow) -> int:
    """Returns the boots per arm of a second comparison, for a candidate that this row left open."""
    fresh = _fresh(row)
    assert fresh is not None
    return next_boots(size, fresh)


def _fresh(row: ComparisonRow) -> Fresh | None:
    if row.mode == "icount" or row.change is None or row.p is None or not row.n_base or not row.n_head:
        return None
    return Fresh(
        change=row.change,
        low=-math.inf if row.ci_low is None else row.ci_low,
        high=math.inf if row.ci_high is None else row.ci_high,
        level=row.interval_level or 0.95,
        p=row.p,
        boots=min(row.n_base, row.n_head),
    )
