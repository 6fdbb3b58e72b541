"""Reads from GitHub the facts of a pull request that the service uses."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from cliffwatch.failure import HttpFailure
from cliffwatch.formats.values import FreeJson
from cliffwatch.pull_request.mailing_list_series import (
    SeriesBranch,
    read_series_branch,
    read_series_record,
    version_in_subject,
)
from cliffwatch.pull_request.policy import Policy
from cliffwatch_service.github.calling import InstallationClient, unreadable_answer
from cliffwatch_service.ingest.free_form import plain_text


@dataclass(frozen=True, slots=True, kw_only=True)
class GitHubPullRequest:
    """A pull request as GitHub describes it."""

    number: int
    open: bool
    title: str
    author: str
    """Login; `ghost` if the account is gone."""
    association: str
    """GitHub's `author_association`."""
    head: str
    base: str
    """Commit at the end of the base branch."""
    base_branch: str
    own: bool
    """True if head is in the repository itself, where only people with write access push."""
    owner: str
    """Login that owns the repository of head; empty if that repository is gone."""
    series: SeriesBranch | None
    """Branch of a mailing list series; None for other pull requests."""
    version: int | None
    """Version of the series; None if there is no series or its version is unknown."""

    def is_trusted(self, policy: Policy) -> bool:
        """True if it is measured without a maintainer's approval.

        Everybody who can push to its head then has write access to the repository or the policy's trust.
        """
        return self.own or (self.owner == self.author and policy.trusts(self.author, self.association))


def read_pull_request(
    installed: InstallationClient, name: str, repository: int, number: int
) -> GitHubPullRequest | HttpFailure:
    """Reads a pull request from GitHub."""
    reply = installed.get(f"/repos/{name}/pulls/{number:d}")
    if isinstance(reply, HttpFailure):
        return reply
    try:
        return _read_opened(reply.body, repository, number)
    except (KeyError, TypeError, ValueError):
        return unreadable_answer(reply.status, "pull request")


def _read_opened(body: FreeJson, repository: int, number: int) -> GitHubPullRequest:
    head, base = body["head"], body["base"]
    if base["repo"]["id"] != repository:
        raise ValueError("another repository has the name now")
    source = head["repo"]  # null if the fork is gone
    own = source is not None and source["id"] == repository
    title = plain_text(str(body["title"])[:300])
    series = read_series_branch(str(head["ref"])) if own else None
    recorded = read_series_record(str(body["body"] or "")).version
    return GitHubPullRequest(
        number=number,
        open=body["state"] == "open",
        title=title,
        author=_login(body["user"]),
        association=str(body["author_association"]),
        head=_commit(head["sha"]),
        base=_commit(base["sha"]),
        base_branch=str(base["ref"]),
        own=own,
        owner=_login(source["owner"]) if source is not None else "",
        series=series,
        version=(recorded or version_in_subject(title)) if series is not None else None,
    )


def _login(user: FreeJson | None) -> str:
    return str(user["login"]) if user is not None else "ghost"


def _commit(text: Any) -> str:
    if not isinstance(text, str) or len(text) not in (40, 64) or set(text) - set("0123456789abcdef"):
        raise ValueError("no commit")
    return text


def may_write(installed: InstallationClient, name: str, login: str) -> bool | HttpFailure:
    """Asks GitHub whether a user has write access to the repository now."""
    reply = installed.get(f"/repos/{name}/collaborators/{quote(login, safe='')}/permission")
    if isinstance(reply, HttpFailure):
        return False if reply.is_gone else reply
    return isinstance(reply.body, Mapping) and reply.body.get("permission") in ("admin", "maintain", "write")
