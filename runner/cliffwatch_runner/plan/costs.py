"""Estimates what boots and links take, before any was made."""

from collections.abc import Sequence

from cliffwatch.catalogue.suite import PlannedCase
from cliffwatch.samples import Mode
from cliffwatch.stats.power.budget import Costs, Repetitions, first_stage
from cliffwatch_runner.plan.plan import Plan

_REAL_SECONDS = {"icount": 3.0, "walltime": 1.0}
_START_SECONDS = {"icount": 10.0, "walltime": 5.0}
_LINK_SECONDS = 30.0


def planned_seconds(plan: Plan, mode: Mode) -> float:
    """Estimates the duration of the plan's boots, without builds and links."""
    return plan.guest_seconds() * _REAL_SECONDS[mode] + len(plan.boots) * _START_SECONDS[mode]


def planned_link_seconds(plan: Plan) -> float:
    """Estimates the duration of the plan's links."""
    return _LINK_SECONDS * len(plan.layouts_of(plan.arms))


def first_boots(seconds: float, cases: Sequence[PlannedCase], arms: int, *, in_layouts: bool) -> Repetitions:
    """Returns the first stage of a walltime plan of `seconds`. Its boots are in one layout unless
    `in_layouts`.
    """
    boot = arms * (_START_SECONDS["walltime"] + sum(case.guest_seconds for case in cases))
    costs = Costs(link=arms * _LINK_SECONDS * in_layouts, boot=boot, second=0.0)
    return first_stage(seconds, costs, 1, len(cases))
