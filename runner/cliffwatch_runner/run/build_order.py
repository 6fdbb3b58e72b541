"""The order by which a run's kernels and programs are built."""

from dataclasses import dataclass

from cliffwatch_runner.build.worktree import BuildSettings
from cliffwatch_runner.plan.prepare import CheckedTools, ResolvedRequest
from cliffwatch_runner.run.progress import Progress


@dataclass(frozen=True, slots=True)
class BuildOrder:
    """What is built for a run, with what, and where its progress is reported."""

    resolved: ResolvedRequest
    tools: CheckedTools
    settings: BuildSettings
    progress: Progress
