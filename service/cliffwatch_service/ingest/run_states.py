"""Checks later states of run.json: the progress of a run may change, what it measures may not."""

from collections.abc import Sequence

from cliffwatch.formats.run_record import ArmRecord, PlannedBootRecord, PlanRecord, RunRecord
from cliffwatch_service.refusal import Refusal

_SAME = ("identity", "created", "mode", "platform", "tree", "config_digest", "bench", "toolchain", "guest")
_SAME_OF_ARM = ("commit", "tree", "parents", "kernel", "config")
_SAME_OF_PLAN = ("seed", "stages", "cases")


def refuse_another_record(digest: str, before: RunRecord, after: RunRecord) -> None:
    """Raises Refusal if `after` is not another state of the stored record.

    A plan may grow by confirming boots.
    """
    changed = [name for name in _SAME if getattr(before, name) != getattr(after, name)]
    changed += [f"arms.{name}" for name in _changed_arms(before, after)]
    changed += [
        f"plan.{name}" for name in _SAME_OF_PLAN if getattr(before.plan, name) != getattr(after.plan, name)
    ]
    if not _continues(before.plan, after.plan):
        changed.append("plan.boots")
    if changed:
        raise Refusal(
            409,
            "another run's record",
            f"run {digest} is stored with another {' and another '.join(changed[:5])},"
            " and a run does not change. Upload this as a new run",
            errors=[(f"record.{name}", "not what is stored") for name in changed[:20]],
        )


def _changed_arms(before: RunRecord, after: RunRecord) -> list[str]:
    """Returns the names of arms that were added or removed, or have another label, commit or kernel."""
    ours, theirs = before.arm_by_name, after.arm_by_name
    return [name for name in sorted({*ours, *theirs}) if _arm(ours.get(name)) != _arm(theirs.get(name))]


def _arm(arm: ArmRecord | None) -> list[object] | None:
    return None if arm is None else [arm.label, *(getattr(arm.facts, name) for name in _SAME_OF_ARM)]


def _continues(before: PlanRecord, after: PlanRecord) -> bool:
    """Whether one plan starts with the other's boots and adds confirming boots only."""
    short, long = sorted((before.boots, after.boots), key=len)
    return long[: len(short)] == short and _confirm(short, long[len(short) :])


def _confirm(planned: Sequence[PlannedBootRecord], more: Sequence[PlannedBootRecord]) -> bool:
    last = max((boot.index for boot in planned), default=0)
    return all(
        boot.stage == "confirm" and boot.index == last + offset for offset, boot in enumerate(more, start=1)
    )
