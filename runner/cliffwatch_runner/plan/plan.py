"""Plans the boots of a run: their arms, order and cases. Pure: a seed always gives the same plan."""

import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from cliffwatch.catalogue.suite import PlannedCase
from cliffwatch.comparing.thresholds import ALPHA
from cliffwatch.counting import count_noun
from cliffwatch.samples import MATCHED, Mode, Stage
from cliffwatch.stats.power.budget import Repetitions
from cliffwatch.stats.power.detectable import detectable
from cliffwatch.stats.stages import Stages

_MOST = 100
"""Boots that are tried in search of the fewest."""
_SEEDS_OF_A_PLAN, _MOST_SEEDS = 10_000, 200_000
"""Numbers of images that a plan's seed has for itself, and seeds that have other ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedBoot:
    """One start of a guest."""

    index: int
    """Position in the plan, from 1."""

    block: int
    """Block of the boot, from 0."""

    arm: str
    cases: tuple[int, ...]
    """Indices into the plan's cases, in the order of execution."""

    stage: Stage = "screen"
    layout: int | None = None
    """Seed of the image that it boots and of its Go programs; None for what was built."""

    duration: int | None = None
    """Seconds that bench measures in each case; None for those of the cases."""

    @property
    def folder(self) -> str:
        """The boot's folder in the result directory."""
        return f"{self.index:03d}-{self.arm}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeBudget:
    """The time of a plan whose first stage decides how the rest is spent."""

    seconds: float
    """For all boots and links."""

    blocks: int
    """Blocks of the first stage."""

    rest: Repetitions | None = None
    """What the first stage chose for the rest; None before it is done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Blocks of boots. In every block, each arm boots once for each guest shape that its cases need."""

    seed: int
    cases: tuple[PlannedCase, ...]
    boots: tuple[PlannedBoot, ...]
    stages: Stages | None = None
    """Rules for adding boots later; None if the number of boots is fixed."""

    notable: float | None = None
    """Threshold for the decisions of the stages, as a fraction; None for each row's default."""

    arms: tuple[str, ...] = ()
    """Arms of the screen, the control included."""

    layouts: int = 1
    """Layouts of each arm in the screen; 1 for the kernel as it was built in all boots."""

    matched: bool = False
    """Each confirming block also boots head matched to base's layout of that block."""

    budget: TimeBudget | None = None
    """The time to fill; None if boots are planned by number."""

    @property
    def first_boots(self) -> tuple[PlannedBoot, ...]:
        """The boots that are planned before any is measured."""
        blocks = None if self.budget is None else self.budget.blocks
        return tuple(
            boot for boot in self.boots if boot.stage == "screen" and (blocks is None or boot.block < blocks)
        )

    def layouts_of(self, arms: Collection[str]) -> tuple[int, ...]:
        """Returns the seeds of the images that the planned boots of these arms need, in order of use."""
        seeds = (boot.layout for boot in self.boots if boot.arm in arms)
        return tuple(dict.fromkeys(seed for seed in seeds if seed is not None))

    def guest_seconds(self) -> float:
        """Returns the guests' seconds over all boots, without their start-up."""
        return float(sum(self.cases[case].guest_seconds for boot in self.boots for case in boot.cases))


def make_plan(
    cases: Sequence[PlannedCase],
    *,
    arms: Sequence[str],
    boots: int | Stages,
    seed: int,
    notable: float | None = None,
    of_noisy: int = 0,
    layouts: int = 1,
    seconds: float | None = None,
    matched: bool = False,
) -> Plan:
    """Plans the boots of each arm.

    If `boots` is a number, each arm boots that often. If it is `Stages`, only the screen is planned.
    Cases with unrepeatable instruction counts get at least `of_noisy` boots.

    Arms come in random order within a block, so that a drift of the host affects all arms alike (randomised
    complete blocks). The order of the cases is random too, but the same for all arms of a block. An earlier
    case thus leaves the same state behind in the kernels of all arms.

    With several layouts, an arm's boots take them in turn. No two arms have one in common. With a time budget
    of `seconds`, `boots` are those of the first stage.
    """
    stages = None if isinstance(boots, int) else boots
    count = boots if isinstance(boots, int) else boots.screen
    plan = Plan(
        seed=seed,
        cases=tuple(cases),
        boots=(),
        stages=stages,
        notable=notable,
        arms=tuple(arms),
        layouts=layouts,
        budget=None if seconds is None else TimeBudget(seconds=seconds, blocks=count),
        matched=matched,
    )
    turns = [block % layouts for block in range(max(count, of_noisy))]
    plan = _with_blocks(plan, tuple(range(len(cases))), arms=arms, layouts=turns[:count])
    noisy = tuple(number for number, case in enumerate(cases) if case.icount.assume == "nothing")
    if not noisy:
        return plan
    return _with_blocks(plan, noisy, arms=arms, layouts=turns[count:])


def confirming_plan(plan: Plan, cases: Sequence[int], *, arms: Sequence[str], boots: int) -> Plan:
    """Adds confirming boots to the plan until each arm has `boots` of them. They run only `cases`.

    With several layouts each has a new one: what a boot confirms must not owe to the layouts that made it a
    candidate, and a link costs less than a boot (Kalibera and Jones, ISMM 2013: repeat at the highest level
    that varies, as long as it is not dearer than those below). Where head is matched, each block has one boot
    more, in base's layout of that block.
    """
    arms = (*arms, MATCHED) if plan.matched else arms
    done = len({boot.block for boot in plan.boots if boot.stage == "confirm"})
    numbers = range(plan.layouts + done, plan.layouts + boots)
    return _with_blocks(plan, tuple(cases), arms=arms, layouts=numbers, stage="confirm")


def plan_in_time(plan: Plan, rest: Repetitions) -> Plan:
    """Adds boots of every case in further layouts to a plan with a time budget."""
    begun = plan.layouts_of(plan.arms[:1])
    first = max(plan.layouts, len(begun))
    numbers = [first + layout for layout in range(rest.layouts) for _ in range(rest.boots)]
    cases = tuple(range(len(plan.cases)))
    return _with_blocks(plan, cases, arms=plan.arms, layouts=numbers, duration=rest.duration)


def _with_blocks(
    plan: Plan,
    cases: tuple[int, ...],
    *,
    arms: Sequence[str],
    layouts: Sequence[int],
    stage: Stage = "screen",
    duration: int | None = None,
) -> Plan:
    """Adds a block for each of `layouts`: their numbers within each arm."""
    first = 1 + max((boot.block for boot in plan.boots), default=-1)
    # The order must be repeatable, not secret. A stage's order depends only on the seed and its first block,
    # so a resumed run gets the same order.
    rng = random.Random(f"{plan.seed}/{first}" if first else plan.seed)  # noqa: S311
    planned = list(plan.boots)
    groups = _by_guest(plan, cases)
    for block, layout in enumerate(layouts, start=first):
        for group in groups:
            order = list(group)
            rng.shuffle(order)
            arms_of_block = list(arms)
            rng.shuffle(arms_of_block)
            planned += [
                PlannedBoot(
                    index=len(planned) + offset,
                    block=block,
                    arm=arm,
                    cases=tuple(order),
                    stage=stage,
                    layout=_seed(plan, arm, layout),
                    duration=duration,
                )
                for offset, arm in enumerate(arms_of_block, start=1)
            ]
    return replace(plan, boots=tuple(planned))


def _seed(plan: Plan, arm: str, layout: int) -> int | None:
    """Returns the seed of an arm's image: the arms take the numbers of the plan's seed in turn.

    So a run with another seed has other images: it does not repeat the luck of the first.
    """
    if plan.layouts == 1:
        return None
    arm = plan.arms[0] if arm == MATCHED else arm
    first = 1 + (plan.seed - 1) % _MOST_SEEDS * _SEEDS_OF_A_PLAN
    return first + plan.arms.index(arm) + layout * len(plan.arms)


def drop_matched(plan: Plan, linked: Collection[int]) -> Plan:
    """Returns the plan without matched boots, other than those in layouts that were linked already."""
    kept = [boot for boot in plan.boots if boot.arm != MATCHED or boot.layout in linked]
    renumbered = (replace(boot, index=index) for index, boot in enumerate(kept, start=1))
    return replace(plan, boots=tuple(renumbered), matched=False)


def order_of_retry(boots: Sequence[PlannedBoot], interruptions: Mapping[int, int]) -> list[PlannedBoot]:
    """Returns the order in which unfinished boots run, given how often each was interrupted, by index.

    Within a block that was interrupted the order turns (base, head; then head, base): the arm that was
    interrupted less often goes first, or else the one that was planned last. So the interruption's own effect
    on the host, and whatever recurs in the first boot, does not meet the same arm twice. Blocks keep their
    order.
    """
    order: list[PlannedBoot] = []
    for _, group in groupby(boots, key=lambda boot: (boot.block, boot.cases)):
        planned = list(group)
        if any(interruptions.get(boot.index, 0) for boot in planned):
            planned.sort(key=lambda boot: (interruptions.get(boot.index, 0), -boot.index))
        order += planned
    return order


def _by_guest(plan: Plan, cases: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """Groups the cases that can share a guest, in the order of their first case."""
    groups: dict[tuple[tuple[str, str], ...], list[int]] = {}
    for case in cases:
        groups.setdefault(plan.cases[case].guest.params, []).append(case)
    return tuple(map(tuple, groups.values()))


def explain_too_few_boots(plan: Plan, mode: Mode) -> str | None:
    """Returns why a one-stage plan cannot report any change of noisy values, and how many boots it needs.

    None if it has enough boots. A case counts as one row: its further metrics do not increase the error.
    """
    if mode != "walltime" or plan.stages is not None or plan.budget is not None or not plan.cases:
        return None
    boots, own = 1 + max((boot.block for boot in plan.boots), default=0), plan.layouts > 1
    observed, what = (min(boots, plan.layouts), "layout") if own else (boots, "boot")
    least = fewest_boots(len(plan.cases))
    if observed >= least:
        return None
    option = f"--boots {max(boots, least)} --layouts {least}" if own else f"--boots {least}"
    return (
        f"{count_noun(observed, what)} per kernel cannot separate {count_noun(len(plan.cases), 'noisy row')}"
        f" from chance, however large a change is: use at least {least} ({option}), or --boots auto"
    )


def fewest_boots(rows: int) -> int:
    """Returns the fewest boots per arm with which a family of `rows` noisy rows can report a change."""
    return next(count for count in range(1, _MOST) if detectable(1.0, count, count, ALPHA / rows) is not None)
