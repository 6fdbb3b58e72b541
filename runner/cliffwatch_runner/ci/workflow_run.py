"""Reads GitHub's `workflow_run` event: which workflow ended, whose code it ran, and for which commit."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, get_args

from msgspec import Meta

from cliffwatch.failure import Failure
from cliffwatch.formats.values import Part
from cliffwatch_runner.ci.event import (
    Commit,
    GitHubNumber,
    Repository,
    RepositoryName,
    malformed,
    read_event_file,
)

PublishedEvent = Literal["push", "pull_request", "workflow_dispatch"]
_Branch = Annotated[str, Meta(pattern=r"^[^\x00-\x20\x7f]{1,300}(?![\s\S])")]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowRun:
    """A finished workflow run."""

    repository: str
    identity: int
    """GitHub's number of the run."""
    attempt: int
    event: PublishedEvent
    head: str
    """A commit."""
    head_branch: str
    head_repository: str
    default_branch: str

    @property
    def fork(self) -> bool:
        """True if head is in another repository."""
        return self.head_repository != self.repository

    @property
    def sequence(self) -> int:
        """Grows with each run and each attempt in a repository."""
        return self.identity * 100 + min(self.attempt, 99)


class _Home(Part, frozen=True, kw_only=True):
    full_name: RepositoryName
    default_branch: _Branch


class _Run(Part, frozen=True, kw_only=True):
    id: GitHubNumber
    run_attempt: GitHubNumber
    event: str
    head_sha: Commit
    head_branch: _Branch
    head_repository: Repository


class _WorkflowRunEvent(Part, frozen=True, kw_only=True):
    workflow_run: _Run
    repository: _Home


def read_workflow_run(file: Path) -> WorkflowRun | Failure:
    """Reads the workflow run from the file of a `workflow_run` event."""
    ended = read_event_file(file, _WorkflowRunEvent)
    if isinstance(ended, Failure):
        return ended
    run = ended.workflow_run
    event: PublishedEvent | None = next(
        (each for each in get_args(PublishedEvent) if each == run.event), None
    )
    if event is None:
        return malformed(file, f"nothing is published for the event {run.event[:60]!a}")
    return WorkflowRun(
        repository=ended.repository.full_name,
        identity=run.id,
        attempt=run.run_attempt,
        event=event,
        head=run.head_sha,
        head_branch=run.head_branch,
        head_repository=run.head_repository.full_name,
        default_branch=ended.repository.default_branch,
    )


@dataclass(frozen=True, slots=True)
class NotPublished:
    """Nothing to publish, for a reason that is not a failure."""

    why: str
