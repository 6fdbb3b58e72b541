"""Input for building a run's kernels and programs."""

from dataclasses import dataclass

from cliffwatch_runner.build.worktree import BuildSettings
from cliffwatch_runner.plan.prepare import CheckedTools, ResolvedRequest
from cliffwatch_runner.run.progress import Progress


@dataclass(frozen=True, slots=True)
class BuildOrder:
    """What to build for a run, with which tools and settings, and where to report progress."""

    resolved: ResolvedRequest
    tools: CheckedTools
    settings: BuildSettings
    progress: Progress
