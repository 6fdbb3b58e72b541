"""A comparison that is confirmed on fresh boots: what was measured before makes candidates, and only fresh boots report a change."""

from collections.abc import Sequence
from dataclasses import replace

from cliffwatch.comparing.compare_run import Sides
from cliffwatch.comparing.thresholds import ALPHA
from cliffwatch.failure import Failure, wrong_usage
from cliffwatch.samples import Arm, Boot
from cliffwatch.stats.stages import ADAPTIVE, Look, Stages


def with_fresh_boots(sides: Sides, base: Arm, head: Arm) -> Sides | Failure:
    """The sides with the boots of two more arms as their confirming stage, in one look that has all of the error.

    A Failure says why the fresh boots cannot confirm these: the sides were confirmed already, or they come from elsewhere.
    """
    if any(boot.stage == "confirm" for arm in (sides.base, sides.head) for boot in arm.boots):
        return wrong_usage(
            "these sides were confirmed by their own plan already",
            "compare without --confirm, or the fresh boots by themselves",
        )
    for old, fresh in ((sides.base, base), (sides.head, head)):
        other = _elsewhere(old, fresh)
        if other is not None:
            return wrong_usage(
                f"the fresh boots of {fresh.label} are of another {other} than those of {old.label}",
                "measure both sides again as they were measured before",
            )
    boots = min(len(base.boots), len(head.boots))
    if boots == 0:
        return wrong_usage("there is no fresh boot on one of the sides", "name a file that has boots for --confirm")
    stages = Stages(
        screen=min(len(sides.base.boots), len(sides.head.boots)),
        screen_alpha=ADAPTIVE.screen_alpha,
        looks=(Look(boots=boots, alpha=ALPHA),),
    )
    return replace(sides, base=_joined(sides.base, base), head=_joined(sides.head, head), stages=stages)


def _elsewhere(old: Arm, fresh: Arm) -> str | None:
    """What of the machine or the build differs, as far as both say it."""
    known: Sequence[tuple[str, str | None, str | None]] = (
        ("mode", old.mode, fresh.mode),
        ("platform", old.platform, fresh.platform),
        *(
            (name, old.environment[name], fresh.environment[name])
            for name in old.environment.keys() & fresh.environment.keys()
        ),
    )
    return next((name for name, mine, other in known if mine is not None and other is not None and mine != other), None)


def _joined(old: Arm, fresh: Arm) -> Arm:
    index = max((boot.index for boot in old.boots), default=0)
    block = 1 + max((boot.block for boot in old.boots), default=0)
    return replace(old, boots=(*old.boots, *(_confirming(boot, index, block) for boot in fresh.boots)))


def _confirming(boot: Boot, index: int, block: int) -> Boot:
    return replace(boot, stage="confirm", index=boot.index + index, block=boot.block + block)
