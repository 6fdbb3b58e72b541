"""The second stage of a plan: which boots to add once all that were planned are done."""

from dataclasses import replace
from pathlib import Path

from cliffwatch.comparing.compare_run import compare_run, sides_of_run
from cliffwatch.comparing.comparison import ComparisonSet
from cliffwatch.formats.result_directory import Run, read_run
from cliffwatch_runner.plan.plan import Plan, confirming_plan

_ARMS = ("base", "head")


def further_boots(folder: Path, plan: Plan) -> Plan | None:
    """The plan with the boots that its next look needs; None where all is decided, or the plan is at its end."""
    if plan.stages is None:
        return None
    run = read_run(folder)
    if not isinstance(run, Run) or not run.arms.keys() >= set(_ARMS):
        return None
    compared = compare_run(replace(sides_of_run(run), stages=plan.stages, notable=plan.notable))
    if not isinstance(compared, ComparisonSet) or not compared.waiting or not compared.next_look:
        return None
    waiting = set(compared.waiting)
    cases = [index for index, case in enumerate(plan.cases) if case.key in waiting]
    longer = confirming_plan(plan, cases, arms=_ARMS, boots=compared.next_look)
    return longer if len(longer.boots) > len(plan.boots) else None
