"""Reads the event that started a workflow from GitHub's file.

Reads it strictly: outsiders write part of its content.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeVar

from msgspec import Meta

from cliffwatch.failure import Failure, wrong_usage
from cliffwatch.formats.reading import read_as
from cliffwatch.formats.values import Part
from cliffwatch.parsers.readings import Problem

COMMIT = re.compile(r"[0-9a-f]{40}")
_NONE = "0" * 40
_LARGEST = 32 << 20
_BRANCH_REF = "refs/heads/"

Commit = Annotated[str, Meta(pattern=r"^[0-9a-f]{40}(?![\s\S])")]
RepositoryName = Annotated[
    str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9-]{0,99}/[A-Za-z0-9_.-]{1,100}(?![\s\S])")
]
GitHubNumber = Annotated[int, Meta(ge=1, lt=1 << 53)]
_RefName = Annotated[str, Meta(min_length=1, max_length=300, pattern=r"^[^-]")]
"""Name of a branch or a ref. Never starts with `-`, so git cannot read it as an option."""

P = TypeVar("P", bound=Part)


@dataclass(frozen=True, slots=True, kw_only=True)
class Push:
    """A push to a branch."""

    repository: str
    default_branch: str
    branch: str
    before: str | None
    """The branch's commit before the push; None if the branch is new."""
    after: str
    """The branch's commit after the push."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequest:
    """A pull request."""

    repository: str
    """The base repository."""
    number: int
    base: str
    """A commit."""
    base_branch: str
    head: str
    """A commit."""
    head_branch: str
    fork: bool
    """True if head is in another repository than base."""
    body: str
    """The author's text: untrusted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ByHand:
    """A person with write access started the workflow.

    The person's choices arrive as command-line options.
    """

    repository: str
    default_branch: str


Event = Push | PullRequest | ByHand


class Repository(Part, frozen=True, kw_only=True):
    """A repository in an event. Only the name is read."""

    full_name: RepositoryName


class _Home(Repository, frozen=True, kw_only=True):
    """The repository of the event."""

    default_branch: _RefName


class _PushEvent(Part, frozen=True, kw_only=True):
    ref: _RefName
    before: Commit
    after: Commit
    repository: _Home


class _Base(Part, frozen=True, kw_only=True):
    sha: Commit
    ref: _RefName
    repo: Repository


class _AnyRepository(Part, frozen=True, kw_only=True):
    """The repository of a head. Used only to check whether it is the base repository."""

    full_name: str | None = None


class _Head(Part, frozen=True, kw_only=True):
    """The head of a pull request."""

    sha: Commit
    ref: _RefName
    repo: _AnyRepository | None = None
    """None if the fork has been deleted. Such a head still counts as a fork."""


class _Pull(Part, frozen=True, kw_only=True):
    number: GitHubNumber
    base: _Base
    head: _Head
    body: str | None = None


class _PullRequestEvent(Part, frozen=True, kw_only=True):
    pull_request: _Pull


class _ByHandEvent(Part, frozen=True, kw_only=True):
    repository: _Home


_LONGEST_BODY = 20_000
_NAMES = ("push", "pull_request", "workflow_dispatch")


def read_event(file: Path, name: str) -> Event | Failure:
    """Reads the event `name` (GITHUB_EVENT_NAME) from its file (GITHUB_EVENT_PATH)."""
    if name == "push":
        pushed = read_event_file(file, _PushEvent)
        return pushed if isinstance(pushed, Failure) else _push(file, pushed)
    if name == "pull_request":
        asked = read_event_file(file, _PullRequestEvent)
        return asked if isinstance(asked, Failure) else _pull_request(asked.pull_request)
    if name == "workflow_dispatch":
        started = read_event_file(file, _ByHandEvent)
        return started if isinstance(started, Failure) else _by_hand(started.repository)
    return wrong_usage(
        f"nothing is measured for the event {name[:60]!a}",
        f"start the workflow on one of: {', '.join(_NAMES)}",
    )


def read_event_file(file: Path, kind: type[P]) -> P | Failure:
    """Reads an event file into `kind`. Ignores members that `kind` does not have."""
    try:
        if file.stat().st_size > _LARGEST:
            return malformed(file, "it is too large")
        content = file.read_bytes()
    except OSError as error:
        return malformed(file, ascii(str(error))[:200])
    event = read_as(content, kind)
    return malformed(file, str(event)[:200]) if isinstance(event, Problem) else event


def malformed(file: Path, what: str) -> Failure:
    return wrong_usage(
        f"the event in {file} cannot be used: {what}", "name the file of GITHUB_EVENT_PATH as it is"
    )


def _push(file: Path, event: _PushEvent) -> Push | Failure:
    if not event.ref.startswith(_BRANCH_REF):
        return malformed(file, "the push is not to a branch; start the workflow for branches alone")
    if event.after == _NONE:
        return malformed(file, "the branch was deleted: there is nothing to measure")
    return Push(
        repository=event.repository.full_name,
        default_branch=event.repository.default_branch,
        branch=event.ref.removeprefix(_BRANCH_REF),
        before=None if event.before == _NONE else event.before,
        after=event.after,
    )


def _pull_request(pull: _Pull) -> PullRequest:
    repository = pull.base.repo.full_name
    return PullRequest(
        repository=repository,
        number=pull.number,
        base=pull.base.sha,
        base_branch=pull.base.ref,
        head=pull.head.sha,
        head_branch=pull.head.ref,
        fork=pull.head.repo is None or pull.head.repo.full_name != repository,
        body=(pull.body or "")[:_LONGEST_BODY],
    )


def _by_hand(home: _Home) -> ByHand:
    return ByHand(repository=home.full_name, default_branch=home.default_branch)
