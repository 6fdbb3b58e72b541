"""What of run.json may change from one state of a run to the next: its progress, never what it measures."""

from collections.abc import Mapping
from typing import Any

from cliffwatch_service.refusal import Refusal
from cliffwatch_service.store.runs import RunRow

_SAME = ("identity", "created", "mode", "platform", "tree", "config_digest", "bench", "toolchain", "guest")
_SAME_OF_ARM = ("commit", "tree", "parents", "kernel", "config")
_SAME_OF_PLAN = ("seed", "stages", "cases")


def refuse_another_record(stored: RunRow, before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
    """Raises Refusal where a record is no later state of the one that is stored. A plan may grow by boots that confirm."""
    changed = [name for name in _SAME if before.get(name) != after.get(name)]
    changed += [f"arms.{name}" for name in _changed_arms(before["arms"], after["arms"])]
    changed += [f"plan.{name}" for name in _SAME_OF_PLAN if before["plan"].get(name) != after["plan"].get(name)]
    if not _continues(before["plan"], after["plan"]):
        changed.append("plan.boots")
    if changed:
        raise Refusal(
            409,
            "another run's record",
            f"run {stored.digest} is stored with another {' and another '.join(changed[:5])}: a run stays what it is."
            " Measure what you mean as a new run",
            errors=[(f"record.{name}", "not what is stored") for name in changed[:20]],
        )


def _changed_arms(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Arms that came, went or are of another kernel."""
    names = sorted({*before, *after})
    return [name for name in names if _arm(before.get(name)) != _arm(after.get(name))]


def _arm(arm: Mapping[str, Any] | None) -> Any:
    return None if arm is None else [arm["label"], *(arm["facts"].get(name) for name in _SAME_OF_ARM)]


def _continues(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Whether the later plan begins with the earlier one's boots, or is its beginning, and only confirms in what is more."""
    short, long = sorted((before["boots"], after["boots"]), key=len)
    more = long[len(short) :]
    last = max((boot["index"] for boot in short), default=0)
    return long[: len(short)] == short and all(
        boot.get("stage") == "confirm" and boot["index"] == last + offset for offset, boot in enumerate(more, start=1)
    )
