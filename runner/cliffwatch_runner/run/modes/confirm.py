"""The second stage of a plan: which boots to add once all that were planned are done."""

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from cliffwatch.comparing.compare_run import compare_all, sides_of_run
from cliffwatch.comparing.loops.empty_loop import loop_among
from cliffwatch.failure import Failure
from cliffwatch.formats.result_directory import Run, read_run
from cliffwatch.samples import CaseKey, compared_arms
from cliffwatch_runner.plan.plan import Plan, confirming_plan


def further_boots(folder: Path, plan: Plan) -> Plan | None:
    """The plan with the boots that its next look needs; None where all is decided, or the plan is at its end.

    Every arm that is compared gets them, of the cases that wait in any: what is compared was booted side by side.
    """
    if plan.stages is None:
        return None
    run = read_run(folder)
    if not isinstance(run, Run):
        return None
    compared = compare_all(replace(sides_of_run(run), stages=plan.stages, notable=plan.notable))
    if isinstance(compared, Failure):
        return None
    waiting = {case.planned for each in compared for case in each.waiting}
    look = max(each.next_look for each in compared)
    if not waiting or not look:
        return None
    chosen = with_empty_loops(plan, waiting)
    cases = [index for index, case in enumerate(plan.cases) if case.key in chosen]
    longer = confirming_plan(plan, cases, arms=compared_arms(run.arms), boots=look)
    return longer if len(longer.boots) > len(plan.boots) else None


def with_empty_loops(plan: Plan, waiting: Collection[CaseKey]) -> set[CaseKey]:
    """The waiting cases with their loops, which run in the same boots."""
    keys = [case.key for case in plan.cases]
    loops = {loop_among(case.key, case.empty_loop, keys) for case in plan.cases if case.key in waiting}
    return {*waiting, *(loop for loop in loops if loop is not None)}
