"""The second stage of a plan: which boots to add once all that were planned are done."""

from functools import partial
from pathlib import Path

from cliffwatch.catalogue.load import load_catalogue
from cliffwatch.comparing.compare import Method, compare
from cliffwatch.comparing.comparison import ComparisonSet
from cliffwatch.comparing.environment_differences import case_traits
from cliffwatch.results import Run, read_run
from cliffwatch_runner.plan.plan import Plan, confirming_plan

_ARMS = ("base", "head")


def further_boots(folder: Path, plan: Plan) -> Plan | None:
    """The plan with the boots that its next look needs; None where all is decided, or the plan is at its end."""
    if plan.stages is None:
        return None
    run = read_run(folder)
    if not isinstance(run, Run) or not run.arms.keys() >= set(_ARMS):
        return None
    traits = partial(case_traits, load_catalogue().traits, 1)
    method = Method(stages=plan.stages, notable=plan.notable)
    compared = compare(run.arms["base"], run.arms["head"], traits, method)
    if not isinstance(compared, ComparisonSet) or not compared.waiting or not compared.next_look:
        return None
    waiting = set(compared.waiting)
    cases = [index for index, case in enumerate(plan.cases) if case.key in waiting]
    longer = confirming_plan(plan, cases, arms=_ARMS, boots=compared.next_look)
    return longer if len(longer.boots) > len(plan.boots) else None
