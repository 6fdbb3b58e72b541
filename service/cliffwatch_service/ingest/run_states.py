"""Checks later states of run.json: the progress of a run may change, what it measures may not."""

from collections.abc import Sequence

from cliffwatch.formats.run_record import ArmRecord, PlannedBootRecord, PlanRecord, RunRecord
from cliffwatch.samples import MATCHED
from cliffwatch_service.refusal import Refusal

_SAME = ("identity", "created", "mode", "platform", "tree", "config_digest", "bench", "toolchain", "guest")
_SAME_OF_ARM = ("commit", "tree", "parents", "kernel", "config")
_SAME_OF_PLAN = ("seed", "stages", "cases", "seconds")


def refuse_another_record(digest: str, before: RunRecord, after: RunRecord) -> None:
    """Raises Refusal if `after` is not another state of the stored record.

    A plan may grow: by confirming boots, with them by the arm with matched layouts, or by the boots that its
    time budget has room for.
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
    """Returns the names of arms that were added or removed, or have another label, commit or kernel.

    The matched arm comes with the boots that confirm.
    """
    ours, theirs = before.arm_by_name, after.arm_by_name
    names = {*ours, *theirs} - ({MATCHED} if MATCHED not in {*ours} & {*theirs} else set())
    return [name for name in sorted(names) if _arm(ours.get(name)) != _arm(theirs.get(name))]


def _arm(arm: ArmRecord | None) -> list[object] | None:
    return None if arm is None else [arm.label, *(getattr(arm.facts, name) for name in _SAME_OF_ARM)]


def _continues(before: PlanRecord, after: PlanRecord) -> bool:
    """Whether one plan starts with the other's boots and adds only boots that the first ones asked for."""
    short, long = sorted((before.boots, after.boots), key=len)
    return long[: len(short)] == short and _follow(
        short, long[len(short) :], in_time=after.seconds is not None
    )


def _follow(
    planned: Sequence[PlannedBootRecord], more: Sequence[PlannedBootRecord], *, in_time: bool
) -> bool:
    """Whether the boots confirm or, in a plan with a time budget, fill its time, and are numbered on."""
    last = max((boot.index for boot in planned), default=0)
    return all(
        (boot.stage == "confirm" or (in_time and boot.duration is not None)) and boot.index == last + offset
        for offset, boot in enumerate(more, start=1)
    )
