"""Finds the measured base and head of a pull request, leaving out commits that touch only CI files.

The base is the merge base, or the upstream commit that the daemon recorded for a mailing list series.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from cliffwatch.failure import HttpFailure
from cliffwatch.pull_request.mailing_list_series import (
    BranchCommit,
    MeasuredRange,
    find_measured_range,
    read_series_record,
    touches_more_than_ci,
)
from cliffwatch_service.github.calling import InstallationClient, unreadable_answer
from cliffwatch_service.github.pull_requests.opened import GitHubPullRequest

_MOST_COMMITS = 60
"""Commits of a series whose files are read, one request each. Of a longer branch, the last ones."""

_MOST_FILES = 300
"""Most files that GitHub lists of a comparison."""

_MOST_BELOW = 10
"""Commits searched for the recorded upstream base, from the merge base down."""


def load_measured_range(
    installed: InstallationClient, name: str, opened: GitHubPullRequest
) -> MeasuredRange | HttpFailure:
    """Returns the measured base and head; the same commit if only CI files changed."""
    compared = installed.get(f"/repos/{name}/compare/{opened.base}...{opened.head}?per_page=100")
    if isinstance(compared, HttpFailure):
        return compared
    try:
        merge_base = str(compared.body["merge_base_commit"]["sha"])
        commits = [str(each["sha"]) for each in compared.body["commits"]]
        files = [str(each["filename"]) for each in compared.body.get("files") or ()]
    except (KeyError, TypeError):
        return unreadable_answer(compared.status, "comparison")
    if opened.series is None:
        # GitHub lists at most 300 files, `.github/` first. So large a change is not only for CI.
        head = opened.head if touches_more_than_ci(files) or len(files) >= _MOST_FILES else merge_base
        paths = tuple(files) if len(files) < _MOST_FILES else ()
        return MeasuredRange(base=merge_base, head=head, commits=tuple(commits), paths=paths)
    return _of_series(installed, name, opened, merge_base, commits[-_MOST_COMMITS:])


def _of_series(
    installed: InstallationClient,
    name: str,
    opened: GitHubPullRequest,
    merge_base: str,
    branch: Sequence[str],
) -> MeasuredRange | HttpFailure:
    recorded = _recorded_upstream(installed, name, opened)
    if isinstance(recorded, HttpFailure):
        return recorded
    known: dict[str, BranchCommit] = {}
    for commit in (*branch, opened.head):
        if commit not in known:
            read = _commit(installed, name, commit)
            if isinstance(read, HttpFailure):
                return read
            known[commit] = read
    below = merge_base
    for _ in range(_MOST_BELOW):
        read = _commit(installed, name, below)
        if isinstance(read, HttpFailure):
            return read
        known[below] = read
        if below == recorded or not read.parents or (recorded is None and touches_more_than_ci(read.paths)):
            break
        below = read.parents[0]
    return find_measured_range(known, merge_base=merge_base, head=opened.head, recorded=recorded)


def _recorded_upstream(
    installed: InstallationClient, name: str, opened: GitHubPullRequest
) -> str | HttpFailure | None:
    """Returns the upstream commit of the newest record; None if there is none.

    Only comments by the pull request's author count: the daemon.
    """
    comments = installed.every(f"/repos/{name}/issues/{opened.number:d}/comments?per_page=100")
    if isinstance(comments, HttpFailure):
        return comments
    records = [
        read_series_record(str(each.get("body") or "")).upstream
        for each in comments
        if isinstance(each, Mapping) and (each.get("user") or {}).get("login") == opened.author
    ]
    return next((each for each in reversed(records) if each is not None), None)


def _commit(installed: InstallationClient, name: str, commit: str) -> BranchCommit | HttpFailure:
    reply = installed.get(f"/repos/{name}/commits/{commit}")
    if isinstance(reply, HttpFailure):
        return reply
    body: Any = reply.body
    try:
        return BranchCommit(
            commit=str(body["sha"]),
            parents=tuple(str(each["sha"]) for each in body["parents"]),
            # A list that continues on another page is too long for CI only. A commit without paths counts.
            paths=() if reply.more else tuple(str(each["filename"]) for each in body.get("files") or ()),
        )
    except (KeyError, TypeError):
        return unreadable_answer(reply.status, "commit")
