"""What a person asks of a run, checked before anything is done."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from cliffwatch.catalogue.suite import GuestNeeds, Profile
from cliffwatch.samples import CaseKey, Mode
from cliffwatch.stats.stages import ADAPTIVE, Stages
from cliffwatch_runner.build.toolchain import ToolChoice
from cliffwatch_runner.plan.arms import ArmRequest
from cliffwatch_runner.sandbox.isolation import IsolationChoice
from cliffwatch_runner.source.access import TreeAccess, Trust

ICOUNT_BOOTS = {"smoke": 1, "standard": 2, "full": 2}
"""Boots an arm under icount: equal kernels repeat, so a second boot only guards against a boot that went wrong."""

ICOUNT_NOISY_BOOTS = 6
"""Of cases that do not repeat under icount either, at least: fewer leave them undecided."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """One call of `cliffwatch run`. `notable` is a fraction; None for the defaults, or what an interrupted run was given.
    `explain` names the cases that the report will explain; `tree_access` is the right by which the tree is fetched.
    `base` and `head` are None where `series`, a mailbox, says them itself; `kernel`, a prebuilt one, is the head. They are as a person
    names them: one may be a range, and a branch as `base` means the merge base. `arms` stand alone where there are any, and are taken as named. `own_suites` are folders of the user's; `bench_args` go to what only the tree has,
    and `data` is a file that programs read. `cases` are patterns of those that are measured, none for all. Every case is measured in each of `shapes`, where it asks for none itself.
    `function_counts`: instructions are counted by function where they are counted at all, and this host can. `only_affected` is a
    result directory whose counts say what cases execute, or `kept` for what earlier runs left in the cache: cases that no arm can have changed
    are left out. `perf_profile`: cases that changed are booted once more with perf around them. `answered` are cases that icount answered already:
    they are not measured. `chosen` are sentences for the first lines of plan and report, by whoever chose base and head. `reuse`: where no folder is named, a complete run of the same content is taken and not measured again.
    """

    tree: str
    tree_access: TreeAccess
    base: str | None
    head: str | None
    patch: Path | None
    suites: tuple[str, ...]
    profile: Profile
    mode: Mode
    platform: str | None
    boots: int | Stages | None
    seed: int
    bench_from: str
    out: Path | None
    cache: Path
    cache_size: int
    tools: ToolChoice
    fragments: tuple[Path, ...]
    jobs: int
    cpus: int | None
    memory_mib: int | None
    pin: tuple[int, ...]
    guest_root: Path | None
    isolation: IsolationChoice
    limits: tuple[str, ...]
    trust: Trust
    hang_after: float
    notable: float | None
    explain: str | None
    series: Path | None = None
    kernel: Path | None = None
    arms: tuple[ArmRequest, ...] = ()
    own_suites: tuple[Path, ...] = ()
    bench_args: tuple[str, ...] = ()
    data: Path | None = None
    shapes: tuple[GuestNeeds, ...] = ()
    cases: tuple[str, ...] = ()
    function_counts: bool = True
    only_affected: Path | Literal["kept"] | None = None
    perf_profile: bool = False
    answered: frozenset[CaseKey] = frozenset()
    chosen: tuple[str, ...] = ()
    reuse: bool = False

    @property
    def boots_per_arm(self) -> int | Stages:
        """What was asked for; else in walltime a screen and a confirmation, in icount the profile's."""
        if self.boots is not None:
            return self.boots
        return ADAPTIVE if self.mode == "walltime" else ICOUNT_BOOTS[self.profile]
