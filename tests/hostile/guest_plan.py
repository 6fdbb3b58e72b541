"""The plan of one boot."""

from cliffwatch.catalogue.load import load_catalogue
from cliffwatch_runner.plan.plan import Plan, make_plan
from cliffwatch_runner.plan.selection import select_cases


def plan_of() -> Plan:
    suites = tuple(suite for suite in load_catalogue().suites if suite.name == "local-storage")
    selection = select_cases(
        suites, "smoke", offered=None, release=(6, 12), mode="walltime", cpus=1, memory_mib=None
    )
    return make_plan(selection.cases[:2], arms=("base", "head"), boots=1, seed=1, notable=None)


PLAN = plan_of()
