"""Chooses the boots of a plan's second stage, once all planned boots are done."""

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from cliffwatch.comparing.compare_run import compare_all, sides_of_run
from cliffwatch.comparing.loops.empty_loop import loop_among
from cliffwatch.failure import Failure
from cliffwatch.formats.result_directory import Run, read_run
from cliffwatch.samples import Arm, CaseKey, select_compared_arms
from cliffwatch_runner.plan.plan import Plan, confirming_plan


def further_boots(folder: Path, plan: Plan) -> Plan | None:
    """Returns the plan with the boots of its next look; None if every case is decided or the plan is
    complete.

    Every compared arm boots every case that is open in any arm: only boots side by side can be compared.

    Boots that an interrupted run made beyond this plan do not count: their looks come again, in their order.
    """
    if plan.stages is None:
        return None
    run = read_run(folder)
    if not isinstance(run, Run):
        return None
    sides = sides_of_run(replace(run, arms={name: _planned(arm, plan) for name, arm in run.arms.items()}))
    compared = compare_all(replace(sides, stages=plan.stages, notable=plan.notable))
    if isinstance(compared, Failure):
        return None
    waiting = {case.planned for each in compared for case in each.waiting}
    look = max(each.next_look for each in compared)
    if not waiting or not look:
        return None
    chosen = with_empty_loops(plan, waiting)
    cases = [index for index, case in enumerate(plan.cases) if case.key in chosen]
    longer = confirming_plan(plan, cases, arms=select_compared_arms(run.arms), boots=look)
    return longer if len(longer.boots) > len(plan.boots) else None


def _planned(arm: Arm, plan: Plan) -> Arm:
    indexes = {boot.index for boot in plan.boots if boot.arm == arm.name}
    return replace(arm, boots=tuple(boot for boot in arm.boots if boot.index in indexes))


def with_empty_loops(plan: Plan, waiting: Collection[CaseKey]) -> set[CaseKey]:
    """Returns the waiting cases with their empty loops, which run in the same boots."""
    keys = [case.key for case in plan.cases]
    loops = {loop_among(case.key, case.empty_loop, keys) for case in plan.cases if case.key in waiting}
    return {*waiting, *(loop for loop in loops if loop is not None)}
