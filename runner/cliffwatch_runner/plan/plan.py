"""The plan of a run: which boots, of which arm, in which order, with which cases. Pure: one seed gives one plan."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from cliffwatch.catalogue.suite import PlannedCase
from cliffwatch.samples import Stage
from cliffwatch.stats.stages import Stages


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedBoot:
    """One start of a guest. `index` counts from 1 in the order of the plan; `cases` are indices into the plan's cases."""

    index: int
    block: int
    arm: str
    cases: tuple[int, ...]
    stage: Stage = "screen"

    @property
    def folder(self) -> str:
        """The boot's folder in the result directory."""
        return f"{self.index:03d}-{self.arm}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Blocks of boots: every block boots each arm once for each shape that its cases ask of the guest. `stages` is when boots are added; None means never.

    `notable` is the smallest change that is reported, as a fraction, which the stages decide by; None is each row's default.
    """

    seed: int
    cases: tuple[PlannedCase, ...]
    boots: tuple[PlannedBoot, ...]
    stages: Stages | None = None
    notable: float | None = None

    def guest_seconds(self) -> float:
        """Virtual seconds over all boots, starting the guests not counted."""
        return float(sum(self.cases[case].guest_seconds for boot in self.boots for case in boot.cases))


def make_plan(
    cases: Sequence[PlannedCase],
    *,
    arms: Sequence[str],
    boots: int | Stages,
    seed: int,
    notable: float | None = None,
    of_noisy: int = 0,
) -> Plan:
    """Plans `boots` boots of each arm, or those of the first of two stages; of cases whose instructions do not repeat `of_noisy`, if that is more.

    Arms come in random order within a block, so that a drift of the host meets all of them alike (randomised complete
    blocks). The order of the cases is random too, but the same for the arms of one block: what an earlier case leaves
    behind in the kernel is then the same on both sides.
    """
    stages = None if isinstance(boots, int) else boots
    count = boots if isinstance(boots, int) else boots.screen
    plan = Plan(seed=seed, cases=tuple(cases), boots=(), stages=stages, notable=notable)
    plan = _with_blocks(plan, tuple(range(len(cases))), arms=arms, blocks=count, stage="screen")
    noisy = tuple(number for number, case in enumerate(cases) if case.icount.assume == "nothing")
    if not noisy:
        return plan
    return _with_blocks(plan, noisy, arms=arms, blocks=max(0, of_noisy - count), stage="screen")


def confirming_plan(plan: Plan, cases: Sequence[int], *, arms: Sequence[str], boots: int) -> Plan:
    """The plan with boots of the second stage added until each arm has `boots` of them; of the named cases alone."""
    done = len({boot.block for boot in plan.boots if boot.stage == "confirm"})
    return _with_blocks(plan, tuple(cases), arms=arms, blocks=boots - done, stage="confirm")


def _with_blocks(
    plan: Plan, cases: tuple[int, ...], *, arms: Sequence[str], blocks: int, stage: Stage
) -> Plan:
    first = 1 + max((boot.block for boot in plan.boots), default=-1)
    # An order that can be repeated, not a secret; a stage's order depends on where it begins, so that a resumed run gets it too.
    rng = random.Random(f"{plan.seed}/{first}" if first else plan.seed)  # noqa: S311
    planned = list(plan.boots)
    groups = _by_guest(plan, cases)
    for block in range(first, first + blocks):
        for group in groups:
            order = list(group)
            rng.shuffle(order)
            arms_of_block = list(arms)
            rng.shuffle(arms_of_block)
            planned += [
                PlannedBoot(
                    index=len(planned) + offset, block=block, arm=arm, cases=tuple(order), stage=stage
                )
                for offset, arm in enumerate(arms_of_block, start=1)
            ]
    return replace(plan, boots=tuple(planned))


def _by_guest(plan: Plan, cases: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """The cases that can share a guest, in the order in which they first come."""
    groups: dict[tuple[tuple[str, str], ...], list[int]] = {}
    for case in cases:
        groups.setdefault(plan.cases[case].guest.params, []).append(case)
    return tuple(map(tuple, groups.values()))
