"""Compares the arms of one run, or of two: the only place where traits, method and plan of a comparison are put together."""

from dataclasses import dataclass
from functools import partial

from cliffwatch.catalogue.load import load_catalogue
from cliffwatch.comparing.compare import compare
from cliffwatch.comparing.comparison import ComparisonSet
from cliffwatch.comparing.environment_differences import assumed_traits, case_traits
from cliffwatch.comparing.overhead import compare_less
from cliffwatch.comparing.rows import Traits
from cliffwatch.comparing.thresholds import Method
from cliffwatch.failure import Failure
from cliffwatch.results import Run, notable_of
from cliffwatch.samples import Arm
from cliffwatch.stats.stages import Stages


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """What is compared, and what its plan says of how.

    `control` is base under a second name; `loop` is an empty loop to subtract. `one_run` says that both sides were booted in one
    plan; `stages` are those of that plan and `notable` the threshold that it was given, None for each row's default.
    """

    base: Arm
    head: Arm
    control: Arm | None = None
    loop: Arm | None = None
    stages: Stages | None = None
    notable: float | None = None
    one_run: bool = False

    def method(self) -> Method:
        return Method(notable=self.notable, stages=self.stages, one_run=self.one_run)

    def traits(self) -> Traits:
        """What the files of the sides say of a metric, else the catalogue, for guests with as many CPUs as either side had."""
        cpus = max(self.base.guest_cpus, self.head.guest_cpus)
        return assumed_traits([self.base, self.head], partial(case_traits, load_catalogue().traits, cpus))


def sides_of_run(run: Run) -> Sides:
    """Base and head of a run that has both. Raises KeyError where it has not."""
    return Sides(
        base=run.arms["base"],
        head=run.arms["head"],
        control=run.arms.get("control"),
        stages=run.stages,
        notable=notable_of(run.record),
        one_run=True,
    )


def compare_run(sides: Sides) -> ComparisonSet | Failure:
    """Every metric that either side measured, with its verdict."""
    traits, method = sides.traits(), sides.method()

    def compared(base: Arm, head: Arm) -> ComparisonSet | Failure:
        return compare(base, head, traits, method, control=sides.control)

    if sides.loop is None:
        return compared(sides.base, sides.head)
    return compare_less(sides.base, sides.head, sides.loop, compared)
