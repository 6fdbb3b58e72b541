"""The event that started a workflow, as GitHub leaves it in a file: read strictly, for others write half of what is in it."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cliffwatch.failure import Failure, wrong_usage

COMMIT = re.compile(r"[0-9a-f]{40}")
REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,99}/[\w.-]{1,100}", re.ASCII)
_NONE = "0" * 40
_LARGEST = 32 << 20
_BRANCH_REF = "refs/heads/"
_LONGEST_BRANCH = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Push:
    """A push to a branch. `before` is None where the branch is new."""

    repository: str
    default_branch: str
    branch: str
    before: str | None
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequest:
    """A pull request. `fork` where its head is in another repository than its base; `body` is its author's."""

    repository: str
    number: int
    base: str
    base_branch: str
    head: str
    head_branch: str
    fork: bool
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ByHand:
    """Somebody with write access started the workflow; what he asked for comes as options."""

    repository: str
    default_branch: str


Event = Push | PullRequest | ByHand


class Malformed(Exception):
    """Something in an event is not of GitHub's making."""


def read_event(file: Path, name: str) -> Event | Failure:
    """The event of this name (GITHUB_EVENT_NAME) that the file (GITHUB_EVENT_PATH) holds."""
    readers: Mapping[str, Callable[[Mapping[str, Any]], Event]] = {
        "push": _push,
        "pull_request": _pull_request,
        "workflow_dispatch": _by_hand,
    }
    if name not in readers:
        return wrong_usage(
            f"nothing is measured for the event {name[:60]!a}",
            f"start the workflow on one of: {', '.join(readers)}",
        )
    content = event_content(file)
    if isinstance(content, Failure):
        return content
    try:
        return readers[name](content)
    except Malformed as error:
        return malformed(file, str(error))


def event_content(file: Path) -> Mapping[str, Any] | Failure:
    """The object in an event's file."""
    try:
        if file.stat().st_size > _LARGEST:
            return malformed(file, "it is too large")
        content = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        return malformed(file, ascii(str(error))[:200])
    return content if isinstance(content, dict) else malformed(file, "it holds no object")


def malformed(file: Path, what: str) -> Failure:
    return wrong_usage(f"the event in {file} cannot be used: {what}", "name the file of GITHUB_EVENT_PATH as it is")


def _push(content: Mapping[str, Any]) -> Push:
    ref, before = _text(content, "ref"), commit_at(content, "before")
    if not ref.startswith(_BRANCH_REF):
        raise Malformed("the push is not to a branch; start the workflow for branches alone")
    after = commit_at(content, "after")
    if after == _NONE:
        raise Malformed("the branch was deleted: there is nothing to measure")
    return Push(
        repository=repository_at(content, "repository", "full_name"),
        default_branch=_text(content, "repository", "default_branch"),
        branch=ref.removeprefix(_BRANCH_REF),
        before=None if before == _NONE else before,
        after=after,
    )


def _pull_request(content: Mapping[str, Any]) -> PullRequest:
    repository = repository_at(content, "pull_request", "base", "repo", "full_name")
    head = at(content, "pull_request", "head")
    # A fork that was deleted meanwhile is none: `repo` is null, and somebody else's all the same.
    head_repository = head.get("repo") or {}
    return PullRequest(
        repository=repository,
        number=number_at(content, "pull_request", "number"),
        base=commit_at(content, "pull_request", "base", "sha"),
        base_branch=_text(content, "pull_request", "base", "ref"),
        head=commit_at(content, "pull_request", "head", "sha"),
        head_branch=_text(content, "pull_request", "head", "ref"),
        fork=head_repository.get("full_name") != repository,
        body=str(at(content, "pull_request").get("body") or "")[:20_000],
    )


def _by_hand(content: Mapping[str, Any]) -> ByHand:
    return ByHand(
        repository=repository_at(content, "repository", "full_name"),
        default_branch=_text(content, "repository", "default_branch"),
    )


def at(content: Mapping[str, Any], *path: str) -> Any:
    """The object at the end of a path. Raises Malformed."""
    for name in path:
        if not isinstance(content, Mapping) or name not in content:
            raise Malformed(f"it has no {'.'.join(path)}")
        content = content[name]
    return content


def _text(content: Mapping[str, Any], *path: str) -> str:
    value = at(content, *path)
    if not isinstance(value, str) or not 0 < len(value) <= _LONGEST_BRANCH or value.startswith("-"):
        raise Malformed(f"{'.'.join(path)} is no name")
    return value


def commit_at(content: Mapping[str, Any], *path: str) -> str:
    value = at(content, *path)
    if not isinstance(value, str) or not COMMIT.fullmatch(value):
        raise Malformed(f"{'.'.join(path)} is no whole commit")
    return value


def repository_at(content: Mapping[str, Any], *path: str) -> str:
    value = at(content, *path)
    if not isinstance(value, str) or not REPOSITORY.fullmatch(value):
        raise Malformed(f"{'.'.join(path)} is no repository")
    return value


def number_at(content: Mapping[str, Any], *path: str) -> int:
    value = at(content, *path)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value < 1 << 53:
        raise Malformed(f"{'.'.join(path)} is no number")
    return value
