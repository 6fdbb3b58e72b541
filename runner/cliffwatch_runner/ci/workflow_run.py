"""The workflow that ended, as GitHub's `workflow_run` event says it: whose code it ran, and for which commit."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from cliffwatch.failure import Failure
from cliffwatch_runner.ci.event import Malformed, at, commit_at, event_content, malformed, number_at, repository_at

_BRANCH = re.compile(r"[^\x00-\x20\x7f]{1,300}")


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowRun:
    """`fork` where the head is of another repository. `sequence` grows with each run and each attempt of a repository."""

    repository: str
    identity: int
    attempt: int
    event: Literal["push", "pull_request", "workflow_dispatch"]
    head: str
    head_branch: str
    head_repository: str
    default_branch: str

    @property
    def fork(self) -> bool:
        return self.head_repository != self.repository

    @property
    def sequence(self) -> int:
        return self.identity * 100 + min(self.attempt, 99)


def read_workflow_run(file: Path) -> WorkflowRun | Failure:
    """The workflow's run that the file of a `workflow_run` event describes."""
    content = event_content(file)
    if isinstance(content, Failure):
        return content
    try:
        return _workflow_run(content)
    except Malformed as error:
        return malformed(file, str(error))


def _workflow_run(content: Mapping[str, Any]) -> WorkflowRun:
    run = at(content, "workflow_run")
    event = at(run, "event")
    if event not in ("push", "pull_request", "workflow_dispatch"):
        raise Malformed(f"nothing is published for the event {str(event)[:60]!a}")
    branch, default = at(run, "head_branch"), at(content, "repository", "default_branch")
    for each in (branch, default):
        if not isinstance(each, str) or not _BRANCH.fullmatch(each):
            raise Malformed("a branch has no name")
    return WorkflowRun(
        repository=repository_at(content, "repository", "full_name"),
        identity=number_at(run, "id"),
        attempt=number_at(run, "run_attempt"),
        event=event,
        head=commit_at(run, "head_sha"),
        head_branch=branch,
        head_repository=repository_at(run, "head_repository", "full_name"),
        default_branch=default,
    )


@dataclass(frozen=True, slots=True)
class NotPublished:
    """Why there is nothing to publish, which is nobody's fault."""

    why: str
