"""What a plan cannot show, said before it begins."""

from cliffwatch.comparing.thresholds import ALPHA
from cliffwatch.counting import count_noun
from cliffwatch.samples import Mode
from cliffwatch.stats.power.detectable import detectable
from cliffwatch_runner.plan.plan import Plan

_MOST = 100


def out_of_reach(plan: Plan, mode: Mode) -> str | None:
    """Why boots of one stage could report no change of noisy values, however large, and how many could; None where they could.

    A case counts as one row: metrics beside its first make the error no larger.
    """
    if mode != "walltime" or plan.stages is not None or not plan.cases:
        return None
    boots = 1 + max((boot.block for boot in plan.boots), default=0)
    least = fewest_boots(len(plan.cases))
    if boots >= least:
        return None
    return (
        f"{count_noun(boots, 'boot')} per kernel cannot tell {count_noun(len(plan.cases), 'noisy row')} from chance, "
        f"however large a change is: {least} are the least (--boots {least}), --boots auto takes what it needs"
    )


def fewest_boots(rows: int) -> int:
    """Boots of each arm from which on a family of so many noisy rows can report a change."""
    return next(count for count in range(1, _MOST) if detectable(1.0, count, count, ALPHA / rows) is not None)
