"""The plan of a run, and whether a boot belongs to it."""

from cliffwatch.formats.uploads import BootUpload
from cliffwatch.samples import CaseKey
from cliffwatch_service.ingest.boot_document import plain_key
from cliffwatch_service.ingest.columns import ColumnsCache, PlanIndex
from cliffwatch_service.ingest.stored_records import stored_record
from cliffwatch_service.refusal import Refusal
from cliffwatch_service.store.runs import RunRow


def plan_of(known: ColumnsCache, run: RunRow) -> PlanIndex:
    """Returns the plan of a run's record as it is stored now."""
    plan = known.plan(run.record_digest)
    if plan is None:
        content = stored_record(run).plan
        plan = PlanIndex(
            cases=frozenset(
                (case.suite, case.benchmark, tuple(case.params.items())) for case in content.cases
            ),
            boots={boot.index: (boot.arm, boot.block, boot.stage) for boot in content.boots},
        )
        known.keep_plan(run.record_digest, plan)
    return plan


def refuse_unplanned(plan: PlanIndex, run: RunRow, number: int) -> None:
    """Raises Refusal if the run's plan lacks the boot."""
    if number not in plan.boots:
        raise Refusal(
            422,
            "unplanned boot",
            f"run {run.digest} plans no boot {number}: upload the run.json whose plan has it first",
            errors=[("boot.index", "not in the run's plan")],
        )


def refuse_other_boot(plan: PlanIndex, run: RunRow, upload: BootUpload) -> None:
    """Raises Refusal if a boot differs from its plan, or measures a case that its run does not plan."""
    about = upload.boot
    planned = plan.boots[about.index]
    actual = (about.arm, about.block, about.stage)
    if actual != planned:
        raise Refusal(
            422,
            "another boot",
            f"run {run.digest} plans boot {about.index} as arm, block and stage {planned}, not {actual}:"
            " upload it as it was planned",
            errors=[("boot", "not what the run's plan says")],
        )
    for index, each in enumerate(upload.samples):
        case = plain_key(each)
        if case not in plan.cases and CaseKey(*case).planned not in plan.cases:
            raise Refusal(
                422,
                "unknown case",
                f"{each.benchmark} {each.params} is not in the plan of run {run.digest}",
                errors=[(f"samples.{index}", "not in the run's plan")],
            )
