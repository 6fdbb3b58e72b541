"""What a run works with, and a run whose kernels are built: one value from the builds to the record."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cliffwatch.failure import Failure
from cliffwatch_runner.build.cache.executed import Executed
from cliffwatch_runner.build.kernel import Kernel
from cliffwatch_runner.build.kernel_config import Fragments
from cliffwatch_runner.build.programs.program import SuiteProgram
from cliffwatch_runner.build.selftests.bench import BenchProgram
from cliffwatch_runner.build.toolchain import Toolchain
from cliffwatch_runner.build.worktree import BuildSettings
from cliffwatch_runner.guest.counting.plugin import Counting
from cliffwatch_runner.plan.run_plan import PlannedRun
from cliffwatch_runner.plan.subjects import Subject
from cliffwatch_runner.run.progress import Progress
from cliffwatch_runner.sandbox.sandbox import Sandbox


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmTools:
    """Tools and configuration of an arm's kernel: the run's, adjusted by the arm's settings."""

    toolchain: Toolchain
    fragments: Fragments


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTools:
    """What a run builds and measures with, and how it reports and is stopped."""

    toolchain: Toolchain
    of_arms: Mapping[str, ArmTools]
    settings: BuildSettings
    guest_sandbox: Sandbox
    """For emulators. That of builds is in `settings`."""

    progress: Progress
    stop: threading.Event


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltArm:
    """One arm: its subject, and its kernel or why that did not build."""

    subject: Subject
    kernel: Kernel | Failure
    toolchain: Toolchain
    """Built the kernel."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltRun(PlannedRun):
    """A planned run with everything that was built for it.

    It grows while it is measured: by the host's tuning, and by the boots of a second stage.
    """

    tools: RunTools
    arms: Mapping[str, BuiltArm]
    """By name, in order. In walltime, the control is the last."""

    bench: BenchProgram | None
    """One bench for all arms, built from the revision `bench_from`; None if every suite has its own program.
    """

    programs: Mapping[str, tuple[SuiteProgram, ...]]
    """The suites' own programs, by arm."""

    counting: Mapping[str, Counting] = field(default_factory=dict)
    """Instruction counter by arm. Arms that are not counted have no entry."""

    known: Executed | None = None
    """What the cache knew of the first arm; None if nothing, or if another run was used."""

    executed: Executed | None = None
    """The counts by which cases were left out, from the cache or from another run; None if none were used."""

    links: tuple[float, ...] = ()
    """Seconds of each link of a kernel that was made before the first boot."""

    linking_seconds: float = 0.0
    """How long links between the plan's stages took, with the build of the trees that were linked."""

    def image(self, arm: str, layout: int | None = None) -> Path:
        """Returns the cache entry with the image of an arm's kernel in a layout, or as it was built."""
        kernel = self.kernels[arm]
        return kernel.folder if layout is None else kernel.layouts[layout]

    @property
    def kernels(self) -> dict[str, Kernel]:
        """The kernel of each arm. An arm whose kernel did not build has none."""
        return {name: arm.kernel for name, arm in self.arms.items() if isinstance(arm.kernel, Kernel)}
