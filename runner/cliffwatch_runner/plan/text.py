"""Prints a plan: `cliffwatch run --dry-run`."""

from cliffwatch.catalogue.suite import PlannedCase
from cliffwatch.counting import count_noun, format_duration
from cliffwatch.stats.stages import Stages
from cliffwatch_runner.plan.costs import planned_link_seconds, planned_seconds
from cliffwatch_runner.plan.plan import Plan
from cliffwatch_runner.plan.run_plan import PlannedRun
from cliffwatch_runner.plan.subjects import Subject


def plan_text(planned: PlannedRun) -> str:
    """Lists the revisions, the cases and the boots in order, with an estimate of the duration."""
    plan = planned.plan
    width = max(len(arm.arm) for arm in planned.subjects)
    lines = [
        *planned.chosen,
        *(f"{arm.arm:<{width}}  {arm.label}, {_release(arm)}" for arm in planned.subjects),
        f"{planned.mode} on {planned.platform}, seed {plan.seed}",
        "",
        f"cases ({len(plan.cases)}):",
    ]
    lines += [f"  {index:3d}  {case.key.suite}: {_words(case)}" for index, case in enumerate(plan.cases)]
    where = f" in {plan.layouts} layouts of each kernel" if plan.layouts > 1 else ""
    lines += ["", f"boots ({len(plan.boots)}){where}, each with its cases in order:"]
    lines += [
        f"  {boot.index:3d}  block {boot.block + 1}  {boot.arm:<{max(8, width)}} {_order(boot.cases)}"
        for boot in plan.boots
    ]
    if plan.stages is not None:
        lines += [f"  then {further_boots_text(plan, plan.stages)}, for cases still inconclusive"]
    if plan.budget is not None:
        lines += [f"  then as many as fit into {format_duration(plan.budget.seconds)}"]
    if planned.left_out:
        lines += ["", "left out:"]
        lines += [f"  {outcome.case}: {outcome.status}: {outcome.reason}" for outcome in planned.left_out]
    lines += ["", cost_text(planned)]
    return "\n".join(lines) + "\n"


def further_boots_text(plan: Plan, stages: Stages) -> str:
    """Says how many boots the stages may add."""
    also = ", and as many of head in base's layouts" if plan.matched else ""
    return f"at most {count_noun(stages.looks[-1].boots, 'more boot')} per kernel{also}"


def cost_text(planned: PlannedRun) -> str:
    """Describes the duration of the plan's boots and of the links of its layouts, without builds."""
    plan, cpu_time = planned.plan, format_duration(planned_seconds(planned.plan, planned.mode))
    links = len(plan.layouts_of(plan.arms))
    linked = (
        f", {format_duration(planned_link_seconds(plan))} for {count_noun(links, 'link')}" if links else ""
    )
    return f"{plan.guest_seconds():.0f} s of guest time, about {cpu_time} of one CPU{linked}, without builds"


def _words(case: PlannedCase) -> str:
    """The command of a case, and the guest that it needs."""
    guest = ", ".join(f"{name}={value}" for name, value in case.guest.params)
    return " ".join(case.argv) + (f" ({guest})" if guest else "")


def _release(arm: Subject) -> str:
    return "prebuilt" if arm.revision is None else f"linux {arm.revision.release}"


def _order(cases: tuple[int, ...]) -> str:
    shown = " ".join(map(str, cases[:24]))
    return shown if len(cases) <= 24 else f"{shown} … ({len(cases)})"
