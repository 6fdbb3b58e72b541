"""The plan of a run: which boots, of which arm, in which order, with which cases. Pure: one seed gives one plan."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from cliffwatch.catalogue.suite import PlannedCase

CONTROL = "control"
"""The arm that boots base under a second name, so that base against control shows what no change looks like."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedBoot:
    """One start of a guest. `index` counts from 1 in the order of the plan; `cases` are indices into the plan's cases."""

    index: int
    block: int
    arm: str
    cases: tuple[int, ...]

    @property
    def folder(self) -> str:
        """The boot's folder in the result directory."""
        return f"{self.index:03d}-{self.arm}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Blocks of boots: every block boots each arm once."""

    seed: int
    cases: tuple[PlannedCase, ...]
    boots: tuple[PlannedBoot, ...]

    def guest_seconds(self) -> float:
        """Virtual seconds over all boots, starting the guests not counted."""
        return float(sum(self.cases[case].guest_seconds for boot in self.boots for case in boot.cases))


def make_plan(cases: Sequence[PlannedCase], *, arms: Sequence[str], boots: int, seed: int) -> Plan:
    """Plans `boots` boots of each arm.

    Arms come in random order within a block, so that a drift of the host meets all of them alike (randomised complete
    blocks). The order of the cases is random too, but the same for the arms of one block: what an earlier case leaves
    behind in the kernel is then the same on both sides.
    """
    rng = random.Random(seed)  # noqa: S311 - an order that can be repeated, not a secret
    planned: list[PlannedBoot] = []
    for block in range(boots):
        order = list(range(len(cases)))
        rng.shuffle(order)
        arms_of_block = list(arms)
        rng.shuffle(arms_of_block)
        planned += [
            PlannedBoot(index=len(planned) + offset, block=block, arm=arm, cases=tuple(order))
            for offset, arm in enumerate(arms_of_block, start=1)
        ]
    return Plan(seed=seed, cases=tuple(cases), boots=tuple(planned))
