"""Compares the arms of one run, or of two, or of two and fresh boots of them: the only place where traits,
method and plan of a comparison are put together.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from cliffwatch.catalogue import installed
from cliffwatch.comparing.compare import compare, compare_arms
from cliffwatch.comparing.comparison import ComparisonSet
from cliffwatch.comparing.environments.differences import assumed_traits, case_traits
from cliffwatch.comparing.environments.varying import refuse_undeclared
from cliffwatch.comparing.loops.overhead import compare_less
from cliffwatch.comparing.rows import Traits
from cliffwatch.comparing.thresholds import ALPHA, Method
from cliffwatch.comparing.verdicts.former_names import under_present_names
from cliffwatch.failure import Failure, wrong_usage
from cliffwatch.samples import CONTROL, Arm, Boot, compared_arms
from cliffwatch.stats.stages import ADAPTIVE, Look, Stages

if TYPE_CHECKING:  # the types of documents are for runs alone
    from cliffwatch.formats.result_directory import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """What is compared, and what its plan says of how.

    `further` are arms that are compared with base as head is, in one family with it. `control` is base
    under a second name; `loop` is an empty loop to subtract. `one_run` says that both sides were booted in
    one plan; `stages` are those of that plan and `notable` the threshold that it was given, None for each
    row's default.
    """

    base: Arm
    head: Arm
    further: tuple[Arm, ...] = ()
    control: Arm | None = None
    loop: Arm | None = None
    stages: Stages | None = None
    notable: float | None = None
    one_run: bool = False
    varying: tuple[str, ...] = ()
    """What alone may differ between the sides; empty: whatever is compared, rows of different environments
    are not judged.
    """

    def method(self) -> Method:
        return Method(notable=self.notable, stages=self.stages, one_run=self.one_run)

    def traits(self) -> Traits:
        """What the files of the sides say of a metric, else the catalogue, for guests with as many CPUs as
        either side had.
        """
        arms = [self.base, self.head, *self.further]
        cpus = max(arm.guest_cpus for arm in arms)
        return assumed_traits(arms, partial(case_traits, installed.traits, cpus))


def sides_of_run(run: "Run") -> Sides:
    """The arms of a run, the first of which is what the others are compared with; an anchor is compared with
    none. Raises ValueError where there are no two.
    """
    base, head, *further = (run.arms[name] for name in compared_arms(run.arms))
    return Sides(
        base=base,
        head=head,
        further=tuple(further),
        control=run.arms.get(CONTROL),
        stages=run.stages,
        notable=run.record.plan.notable,
        one_run=True,
    )


def compare_run(sides: Sides) -> ComparisonSet | Failure:
    """Every metric that either side measured, with its verdict; of the first two of more arms."""
    compared = compare_all(sides)
    return compared if isinstance(compared, Failure) else compared[0]


def compare_all(sides: Sides) -> tuple[ComparisonSet, ...] | Failure:
    """Head and each further arm against base."""
    sides = _under_present_names(sides)
    if sides.varying:
        refused = refuse_undeclared(sides.base, (sides.head, *sides.further), sides.varying)
        if refused is not None:
            return refused
        sides = _as_declared(sides)
    traits, method = sides.traits(), sides.method()

    def compared(base: Arm, head: Arm) -> ComparisonSet | Failure:
        return compare(base, head, traits, method, control=sides.control)

    if sides.loop is None:
        return compare_arms(sides.base, (sides.head, *sides.further), traits, method, control=sides.control)
    if sides.further:
        return wrong_usage(
            "an empty loop is subtracted from two arms, and there are more", "name two of them"
        )
    traits = _without_loops(traits)
    less = compare_less(sides.base, sides.head, sides.loop, compared)
    return less if isinstance(less, Failure) else (less,)


def _under_present_names(sides: Sides) -> Sides:
    """The sides with one name for each benchmark that was renamed between them."""
    arms = [(each.name, each) for each in (sides.base, sides.head, *sides.further)]
    if not sides.further:
        arms = [("base", sides.base), ("head", sides.head)]
    others = [(each.name, each) for each in (sides.control, sides.loop) if each is not None]
    linked = iter(under_present_names([*arms, *others], installed.rename_case))
    base, head, *further = islice(linked, len(arms))
    control = None if sides.control is None else next(linked)
    loop = None if sides.loop is None else next(linked)
    return replace(sides, base=base, head=head, further=tuple(further), control=control, loop=loop)


def _as_declared(sides: Sides) -> Sides:
    """The sides where all that differs was said to: of their environments nothing is held against them."""
    further = tuple(_apply_varying(arm, sides) for arm in sides.further)
    return replace(sides, head=_apply_varying(sides.head, sides), further=further)


def _apply_varying(arm: Arm, sides: Sides) -> Arm:
    """A mode is never compared with another one, whatever anybody says."""
    platform = sides.base.platform if "platform" in sides.varying else arm.platform
    return replace(arm, meant=arm.meant | sides.base.environment.keys(), platform=platform)


def _without_loops(traits: Traits) -> Traits:
    """Traits by which nothing more is subtracted of what is less a loop already."""
    return lambda case, metric, unit, mode: replace(traits(case, metric, unit, mode), empty_loop="")


def with_fresh_boots(sides: Sides, base: Arm, head: Arm) -> Sides | Failure:
    """The sides with the boots of two more arms as their confirming stage, in one look that has all of the
    error: what was measured before makes candidates, and only fresh boots report a change.

    A Failure says why the fresh boots cannot confirm these: the sides were confirmed already, or they come
    from elsewhere.
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
        return wrong_usage(
            "there is no fresh boot on one of the sides", "name a file that has boots for --confirm"
        )
    stages = Stages(
        screen=min(len(sides.base.boots), len(sides.head.boots)),
        screen_alpha=ADAPTIVE.screen_alpha,
        looks=(Look(boots=boots, alpha=ALPHA),),
    )
    return replace(
        sides, base=_join_boots(sides.base, base), head=_join_boots(sides.head, head), stages=stages
    )


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
    return next(
        (name for name, mine, other in known if mine is not None and other is not None and mine != other),
        None,
    )


def _join_boots(old: Arm, fresh: Arm) -> Arm:
    index = max((boot.index for boot in old.boots), default=0)
    block = 1 + max((boot.block for boot in old.boots), default=0)
    return replace(old, boots=(*old.boots, *(_confirming(boot, index, block) for boot in fresh.boots)))


def _confirming(boot: Boot, index: int, block: int) -> Boot:
    return replace(boot, stage="confirm", index=boot.index + index, block=boot.block + block)
