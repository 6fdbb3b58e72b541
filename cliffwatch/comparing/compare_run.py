"""Compares the arms of a run, of two runs, or of two runs and fresh boots.

Only this module combines a comparison's traits, method and plan.
"""

from collections.abc import Mapping, Sequence
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
from cliffwatch.comparing.placement.layouts import count_observed
from cliffwatch.comparing.placement.matched import with_matched
from cliffwatch.comparing.rows import Traits
from cliffwatch.comparing.thresholds import ALPHA, Method
from cliffwatch.comparing.verdicts.former_names import under_present_names
from cliffwatch.failure import Failure, wrong_usage
from cliffwatch.samples import CONTROL, MATCHED, Arm, Boot, is_rehearsal, select_compared_arms
from cliffwatch.stats.stages import ADAPTIVE, Look, Stages

if TYPE_CHECKING:  # the types of documents are for runs alone
    from cliffwatch.formats.result_directory import Run
    from cliffwatch.formats.run_record import RunRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """The arms to compare, and their plan."""

    base: Arm
    head: Arm
    further: tuple[Arm, ...] = ()
    """Further arms, compared with base as head is, in the same family."""
    control: Arm | None = None
    """Base under a second name; None if the run has no control."""
    matched: Arm | None = None
    """Head in base's layouts; None if it was not booted so."""
    loop: Arm | None = None
    """An empty loop to subtract; None to subtract nothing."""
    stages: Stages | None = None
    """Stages of the plan; None if it has one stage."""
    notable: float | None = None
    """Threshold given to the plan, a fraction; None for each row's default."""
    one_run: bool = False
    """True if both sides were booted in one plan."""
    varying: tuple[str, ...] = ()
    """Parts of the environment that may differ between the sides; any other difference is refused.

    If empty, nothing is refused, but rows measured in different environments are not judged.
    """

    def method(self) -> Method:
        return Method(notable=self.notable, stages=self.stages, one_run=self.one_run)

    def traits(self) -> Traits:
        """Metric traits from the sides' own files, or else from the catalogue.

        The catalogue's are those for guests with the most CPUs of any side.
        """
        arms = [self.base, self.head, *self.further]
        cpus = max(arm.guest_cpus for arm in arms)
        return assumed_traits(arms, partial(case_traits, installed.traits, cpus))


def sides_of_run(run: "Run") -> Sides:
    """The arms of a run: the first is base, the others are compared with it. An anchor is left out.

    Raises ValueError if there are fewer than two arms.
    """
    arms = [run.arms[name] for name in select_compared_arms(run.arms)]
    return sides_of_plan(run.record, arms, run.arms)


def sides_of_plan(record: "RunRecord", arms: Sequence[Arm], auxiliary: Mapping[str, Arm]) -> Sides:
    """The arms of one plan, the first of them as base. `auxiliary` has control and matched arm by name."""
    base, head, *further = arms
    return Sides(
        base=base,
        head=head,
        further=tuple(further),
        control=auxiliary.get(CONTROL),
        matched=auxiliary.get(MATCHED),
        stages=record.stages,
        notable=record.plan.notable,
        one_run=True,
    )


def compare_run(sides: Sides) -> ComparisonSet | Failure:
    """Compares base and head, and leaves out further arms."""
    compared = compare_all(sides)
    return compared if isinstance(compared, Failure) else compared[0]


def compare_all(sides: Sides) -> tuple[ComparisonSet, ...] | Failure:
    """Compares head and each further arm with base."""
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
        several = compare_arms(
            sides.base, (sides.head, *sides.further), traits, method, control=sides.control
        )
        return several if isinstance(several, Failure) else _with_matched(several, sides)
    if sides.further:
        return wrong_usage(
            "an empty loop is subtracted from two arms, and there are more", "name two of them"
        )
    traits = _without_loops(traits)
    less = compare_less(sides.base, sides.head, sides.loop, compared)
    return less if isinstance(less, Failure) else (less,)


def _with_matched(compared: tuple[ComparisonSet, ...], sides: Sides) -> tuple[ComparisonSet, ...]:
    """The comparisons, with what the matched layouts show of head's changes."""
    if sides.matched is None:
        return compared
    first, *others = compared
    return (replace(first, rows=with_matched(first.rows, sides.base, sides.matched)), *others)


def _under_present_names(sides: Sides) -> Sides:
    """The sides with one name for each benchmark that was renamed between them."""
    arms = [(each.name, each) for each in (sides.base, sides.head, *sides.further)]
    if not sides.further:
        arms = [("base", sides.base), ("head", sides.head)]
    auxiliary = (sides.control, sides.matched, sides.loop)
    others = [(each.name, each) for each in auxiliary if each is not None]
    linked = iter(under_present_names([*arms, *others], installed.rename_case))
    base, head, *further = islice(linked, len(arms))
    control, matched, loop = (None if each is None else next(linked) for each in auxiliary)
    return replace(
        sides, base=base, head=head, further=tuple(further), control=control, matched=matched, loop=loop
    )


def _as_declared(sides: Sides) -> Sides:
    """The sides with all differences of their environments allowed: the caller declared them."""
    further = tuple(_apply_varying(arm, sides) for arm in sides.further)
    return replace(sides, head=_apply_varying(sides.head, sides), further=further)


def _apply_varying(arm: Arm, sides: Sides) -> Arm:
    """The mode keeps its value, and so does a rehearsal's platform beside one that is none: these are never
    compared.
    """
    alike = is_rehearsal(arm.platform) == is_rehearsal(sides.base.platform)
    platform = sides.base.platform if alike and "platform" in sides.varying else arm.platform
    return replace(arm, meant=arm.meant | sides.base.environment.keys(), platform=platform)


def _without_loops(traits: Traits) -> Traits:
    """Traits without empty loops, for values that have a loop subtracted already."""
    return lambda case, metric, unit, mode: replace(traits(case, metric, unit, mode), empty_loop="")


def with_fresh_boots(sides: Sides, base: Arm, head: Arm) -> Sides | Failure:
    """Adds the boots of two more arms to the sides as their confirming stage.

    The stage has one look with all of the error. The earlier boots select candidates; only fresh boots report
    a change.

    Returns a Failure if the fresh boots cannot confirm these sides: they were confirmed already, or the fresh
    boots come from another machine or build, or lie in the same layouts.
    """
    if any(boot.stage == "confirm" for arm in (sides.base, sides.head) for boot in arm.boots):
        return wrong_usage(
            "these sides were confirmed by their own plan already",
            "compare without --confirm, or the fresh boots by themselves",
        )
    for old, fresh in ((sides.base, base), (sides.head, head)):
        other = _differing_property(old, fresh)
        if other is not None:
            return wrong_usage(
                f"the fresh boots of {fresh.label} are of another {other} than those of {old.label}",
                "measure both sides again as they were measured before",
            )
        if _layouts(old) & _layouts(fresh):
            return wrong_usage(
                f"the fresh boots of {fresh.label} are in layouts of the first boots, and repeat their luck",
                "measure both sides again with another --seed",
            )
    if not base.boots or not head.boots:
        return wrong_usage(
            "there is no fresh boot on one of the sides", "name a file that has boots for --confirm"
        )
    joined = _join_boots(sides.base, base), _join_boots(sides.head, head)
    stages = Stages(
        screen=count_observed(joined, "screen"),
        screen_alpha=ADAPTIVE.screen_alpha,
        looks=(Look(boots=count_observed(joined, "confirm"), alpha=ALPHA),),
    )
    return replace(sides, base=joined[0], head=joined[1], stages=stages)


def _layouts(arm: Arm) -> set[str]:
    return {boot.layout for boot in arm.boots if boot.layout is not None}


def _differing_property(old: Arm, fresh: Arm) -> str | None:
    """The first property of machine or build that both arms record and that differs; None without one."""
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
    return replace(
        old,
        boots=(*old.boots, *(_confirming(boot, index, block) for boot in fresh.boots)),
        host_faults=tuple(dict.fromkeys((*old.host_faults, *fresh.host_faults))),
        cautions=tuple(dict.fromkeys((*old.cautions, *fresh.cautions))),
    )


def _confirming(boot: Boot, index: int, block: int) -> Boot:
    return replace(boot, stage="confirm", index=boot.index + index, block=boot.block + block)
