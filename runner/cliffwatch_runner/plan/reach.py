"""Warns before a run if its plan has too few boots to report any change."""

from cliffwatch.comparing.thresholds import ALPHA
from cliffwatch.counting import count_noun
from cliffwatch.samples import Mode
from cliffwatch.stats.power.detectable import detectable
from cliffwatch_runner.plan.plan import Plan

_MOST = 100


def explain_too_few_boots(plan: Plan, mode: Mode) -> str | None:
    """Returns why a one-stage plan cannot report any change of noisy values, and how many boots it needs.

    None if it has enough boots. A case counts as one row: its further metrics do not increase the error.
    """
    if mode != "walltime" or plan.stages is not None or not plan.cases:
        return None
    boots = 1 + max((boot.block for boot in plan.boots), default=0)
    least = fewest_boots(len(plan.cases))
    if boots >= least:
        return None
    return (
        f"{count_noun(boots, 'boot')} per kernel cannot separate {count_noun(len(plan.cases), 'noisy row')}"
        f" from chance, however large a change is: use at least {least} (--boots {least}), or --boots auto"
    )


def fewest_boots(rows: int) -> int:
    """Returns the fewest boots per arm with which a family of `rows` noisy rows can report a change."""
    return next(count for count in range(1, _MOST) if detectable(1.0, count, count, ALPHA / rows) is not None)
