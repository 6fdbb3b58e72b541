"""The options of a run."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from cliffwatch.catalogue.suite import GuestNeeds
from cliffwatch.samples import DEFAULT_ACCEL, Accel, BootsWord, CaseKey, Mode, Profile
from cliffwatch.stats.stages import ADAPTIVE, CAREFUL, Stages
from cliffwatch_runner.build.toolchain import ToolChoice
from cliffwatch_runner.plan.arms import ArmRequest
from cliffwatch_runner.sandbox.isolation import IsolationChoice
from cliffwatch_runner.source.access import TreeAccess, Trust

STAGES_OF_WORDS: Mapping[BootsWord, Stages | None] = {"auto": None, "staged": ADAPTIVE, "careful": CAREFUL}
"""Stages by the word for boots; None for the default of mode and profile."""

ICOUNT_BOOTS: Mapping[Profile, int] = {"smoke": 1, "standard": 2, "full": 2}
"""Boots per arm under icount, by profile.

Counts of equal kernels repeat, so a second boot only guards against a faulty first one.
"""

ICOUNT_NOISY_BOOTS = 6
"""Fewest boots per arm of cases whose counts do not repeat. Fewer boots leave them inconclusive."""


DEFAULT_LAYOUTS = 8
"""Layouts of each kernel in walltime. Fewer cannot be told apart: see docs/calibration.md."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """One call of `cliffwatch run`.

    Either `arms` name all sides, or `base` and `head` do. `series` and `kernel` may take the place of `head`.
    """

    tree: str
    tree_access: TreeAccess
    """The right by which the tree is fetched."""

    base: str | None
    """Name of a revision, or a range with both ends. A branch means its merge base with head.

    None if `series` names its base itself, or if there are `arms`.
    """

    head: str | None
    """Name of a revision, or a range with both ends; None if `series`, `kernel` or `arms` name the head."""

    patch: Path | None
    """Patch to apply to head; None for no patch."""

    suites: tuple[str, ...]
    profile: Profile
    mode: Mode
    platform: str | None
    """Name of the host's platform; None for the processor's name."""

    boots: int | Stages | None
    """Boots per arm; None for the default of mode and profile."""

    seed: int
    bench_from: str
    """The arm or revision whose bench all arms run."""

    out: Path | None
    """Result directory; None for a new folder below cliffwatch-results."""

    cache: Path
    cache_size: int
    """Limit of the cache, in bytes."""

    tools: ToolChoice
    fragments: tuple[Path, ...]
    """Kernel configuration fragments for all arms."""

    jobs: int
    cpus: int | None
    """CPUs of a guest; None for the mode's default."""

    memory_mib: int | None
    """Memory of a guest; None for what its cases need."""

    pin: tuple[int, ...]
    """CPUs of the host for the guest's CPUs; empty to let Cliffwatch choose."""

    guest_root: Path | None
    """Root file system of the guests; None for the host's, or the build image's."""

    isolation: IsolationChoice
    limits: tuple[str, ...]
    """Limits of builds, such as `memory=32G`."""

    trust: Trust
    hang_after: float
    """Seconds of the guest's clock without a sign of life after which it hangs, plus the time of its case."""

    notable: float | None
    """Smallest change to report, as a fraction; None for the defaults, or the resumed run's value."""

    explain: str | None
    """Pattern of the cases that the report explains; None for no explanation."""

    series: Path | None = None
    """Mailbox with a patch series, which is the head."""

    kernel: Path | None = None
    """Prebuilt kernel, which is the head."""

    arms: tuple[ArmRequest, ...] = ()
    """The arms; empty if base and head are named instead."""

    compares: bool = True
    """False if values are asked for and no comparison: then one arm is enough."""

    own_suites: tuple[Path, ...] = ()
    """Folders of the user's own suites."""

    bench_args: tuple[str, ...] = ()
    """Arguments for the benchmarks that only the tree has."""

    data: Path | None = None
    """File or folder of BPF objects that programs read; None for none."""

    shapes: tuple[GuestNeeds, ...] = ()
    """Every case that has no guest shape of its own is measured in each of these."""

    cases: tuple[str, ...] = ()
    """Patterns of the cases to measure; empty for all."""

    function_counts: bool = True
    """Counts instructions by function, if the mode counts instructions and this host can."""

    only_affected: Path | Literal["kept"] | None = None
    """Leaves out cases that no arm can have changed; None to measure all.

    The counts of the functions that cases execute come from a result directory, or from the cache (`kept`).
    """

    perf_profile: bool = False
    """Boots the changed cases once more under perf."""

    accel: Accel = DEFAULT_ACCEL
    """What runs the guests of walltime."""

    layouts: int | None = None
    """Images of each kernel that differ only in where code lies; None for the default of the mode."""

    matched: bool = False
    """Confirming boots also boot head in base's layouts, to tell whether a change is only placement."""

    seconds: float | None = None
    """Time for boots and links in walltime; None if boots are planned by number."""

    answered: frozenset[CaseKey] = frozenset()
    """Cases that icount decided already. They are not measured."""

    chosen: tuple[str, ...] = ()
    """Sentences for the first lines of plan and report, on how base and head were chosen."""

    releases: bool = False
    """The arms are releases, the oldest first. Their kernels get what any suite of the catalogue needs, so
    that runs of other suites share them, and their code is compared with that of the release before.
    """

    reuse: bool = False
    """If `out` is None, returns a complete run of the same content instead of measuring again."""

    @property
    def is_rehearsal(self) -> bool:
        return self.accel == "tcg"

    def one_of_modes(self, mode: Mode) -> "RunRequest":
        """Returns the request of one mode of several; accelerator, layouts and time are for walltime."""
        if mode == "walltime":
            return replace(self, mode=mode)
        return replace(self, mode=mode, accel=DEFAULT_ACCEL, layouts=None, matched=False, seconds=None)

    @property
    def boots_per_arm(self) -> int | Stages:
        """Returns the requested boots.

        The default is a screen and a confirmation in walltime, and depends on the profile in icount.
        """
        if self.boots is not None:
            return self.boots
        return ADAPTIVE if self.mode == "walltime" else ICOUNT_BOOTS[self.profile]

    @property
    def screen_boots(self) -> int:
        """Returns the boots of each arm that are planned at first."""
        boots = self.boots_per_arm
        return boots if isinstance(boots, int) else boots.screen
