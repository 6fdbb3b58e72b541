"""Derives from a webhook what to look at. The facts come from GitHub's API, never from the webhook.

A webhook that is duplicated, late, out of order or replayed therefore costs a look and changes nothing.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from cliffwatch.formats.values import FreeJson
from cliffwatch.pull_request.bench_command import parse_bench_command
from cliffwatch.pull_request.mailing_list_series import read_series_record

_LARGEST_NUMBER = 2**53
_NAME = re.compile(r"(?!\.+/)[A-Za-z0-9_.-]{1,100}/(?!\.+$)[A-Za-z0-9_.-]{1,100}")
_HEADS = "refs/heads/"
_MOST_PULL_REQUESTS = 20


@dataclass(frozen=True, slots=True)
class InstallationLook:
    """Where the App is installed, or what it reaches there, may have changed."""

    installation: int


@dataclass(frozen=True, slots=True)
class PushLook:
    """A branch of a repository (OWNER/NAME) may have moved."""

    repository: str
    branch: str


@dataclass(frozen=True, slots=True)
class PullRequestLook:
    """A pull request of a repository, by GitHub's number, may have changed."""

    installation: int
    repository: int
    number: int


@dataclass(frozen=True, slots=True)
class CommandLook:
    """A comment to a pull request may hold a command."""

    installation: int
    repository: int
    number: int
    comment: int


Look = InstallationLook | PushLook | PullRequestLook | CommandLook

_PULL_REQUEST_ACTIONS = frozenset(
    {"opened", "reopened", "synchronize", "closed", "edited", "ready_for_review"}
)


def is_repository_name(name: str) -> bool:
    """True if a text has the form OWNER/NAME. Nothing else may become part of a URL."""
    return _NAME.fullmatch(name) is not None


def looks_of(event: str, payload: Any) -> tuple[Look, ...]:
    """Returns what to look at; nothing for irrelevant events and malformed payloads."""
    read = _READERS.get(event)
    return () if read is None or not isinstance(payload, dict) else read(payload)


def _installation(payload: FreeJson) -> tuple[Look, ...]:
    number = _number(payload, "installation", "id")
    return () if number is None else (InstallationLook(number),)


def _push(payload: FreeJson) -> tuple[Look, ...]:
    name, ref = _text(payload, "repository", "full_name"), _text(payload, "ref")
    if not is_repository_name(name) or not ref.startswith(_HEADS):
        return ()
    return (PushLook(name, ref.removeprefix(_HEADS)),)


def _pull_request(payload: FreeJson) -> tuple[Look, ...]:
    if _text(payload, "action") not in _PULL_REQUEST_ACTIONS:
        return ()
    return _look_at(payload, _number(payload, "pull_request", "number"))


def _look_at(payload: FreeJson, number: int | None) -> tuple[Look, ...]:
    installation, repository = _number(payload, "installation", "id"), _number(payload, "repository", "id")
    if installation is None or repository is None or number is None:
        return ()
    return (PullRequestLook(installation, repository, number),)


def _issue_comment(payload: FreeJson) -> tuple[Look, ...]:
    """Looks for a new comment with a command or with the upstream base of a series."""
    if not isinstance(_get_path(payload, "issue", "pull_request"), Mapping):
        return ()
    looks = _look_at(payload, _number(payload, "issue", "number"))
    text, comment = _text(payload, "comment", "body"), _number(payload, "comment", "id")
    if _text(payload, "action") != "created":
        return ()
    if read_series_record(text).upstream is not None:
        return looks
    if comment is None or parse_bench_command(text) is None:
        return ()
    return tuple(
        CommandLook(each.installation, each.repository, each.number, comment)
        for each in looks
        if isinstance(each, PullRequestLook)
    )


def _checks(member: str) -> Callable[[FreeJson], tuple[Look, ...]]:
    def read(payload: FreeJson) -> tuple[Look, ...]:
        if _text(payload, "action") not in ("requested", "rerequested"):
            return ()
        named = _get_path(payload, member, "pull_requests")
        numbers = [_number(each, "number") for each in named] if isinstance(named, list) else []
        return tuple(look for number in numbers[:_MOST_PULL_REQUESTS] for look in _look_at(payload, number))

    return read


_READERS: Mapping[str, Callable[[FreeJson], tuple[Look, ...]]] = {
    "push": _push,
    "pull_request": _pull_request,
    "issue_comment": _issue_comment,
    "check_suite": _checks("check_suite"),
    "check_run": _checks("check_run"),
    "installation": _installation,
    "installation_repositories": _installation,
}


def _get_path(value: Any, *path: str) -> Any:
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _text(value: Any, *path: str) -> str:
    found = _get_path(value, *path)
    return found if isinstance(found, str) else ""


def _number(value: Any, *path: str) -> int | None:
    found = _get_path(value, *path)
    good = isinstance(found, int) and not isinstance(found, bool) and 0 < found < _LARGEST_NUMBER
    return found if good else None
