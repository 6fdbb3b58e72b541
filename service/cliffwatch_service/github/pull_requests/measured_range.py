"""Which two commits of a pull request are measured: the merge base, or what a series' daemon recorded,
without commits for CI.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from cliffwatch.pull_request.mailing_list_series import (
    BranchCommit,
    CountingRange,
    counting_range,
    counts,
    read_series_record,
)
from cliffwatch_service.github.calling import GitHubProblem, Installed
from cliffwatch_service.github.pull_requests.opened import Opened

_MOST_COMMITS = 60
"""Of a series whose files are asked for, one request each; of a longer branch, those at its end."""

_MOST_FILES = 300
"""That GitHub lists of a comparison."""

_MOST_BELOW = 10
"""Commits from the merge base down in which the recorded upstream base is looked for."""


def measured_range(installed: Installed, name: str, opened: Opened) -> CountingRange | GitHubProblem:
    """Base and head of what is measured; the same commit where nothing counts."""
    compared = installed.get(f"/repos/{name}/compare/{opened.base}...{opened.head}?per_page=100")
    if isinstance(compared, GitHubProblem):
        return compared
    try:
        merge_base = str(compared.body["merge_base_commit"]["sha"])
        commits = [str(each["sha"]) for each in compared.body["commits"]]
        files = [str(each["filename"]) for each in compared.body.get("files") or ()]
    except (KeyError, TypeError):
        return GitHubProblem(
            kind="wrong", status=compared.status, message="GitHub's answer holds no comparison"
        )
    if opened.series is None:
        # GitHub lists 300 files and no more, `.github/` first: of so large a change all is not for CI.
        head = opened.head if counts(files) or len(files) >= _MOST_FILES else merge_base
        paths = tuple(files) if len(files) < _MOST_FILES else ()
        return CountingRange(base=merge_base, head=head, commits=tuple(commits), paths=paths)
    return _of_series(installed, name, opened, merge_base, commits[-_MOST_COMMITS:])


def _of_series(
    installed: Installed, name: str, opened: Opened, merge_base: str, branch: Sequence[str]
) -> CountingRange | GitHubProblem:
    recorded = _recorded_upstream(installed, name, opened)
    if isinstance(recorded, GitHubProblem):
        return recorded
    known: dict[str, BranchCommit] = {}
    for commit in (*branch, opened.head):
        if commit not in known:
            read = _commit(installed, name, commit)
            if isinstance(read, GitHubProblem):
                return read
            known[commit] = read
    below = merge_base
    for _ in range(_MOST_BELOW):
        read = _commit(installed, name, below)
        if isinstance(read, GitHubProblem):
            return read
        known[below] = read
        if below == recorded or not read.parents or (recorded is None and counts(read.paths)):
            break
        below = read.parents[0]
    return counting_range(known, merge_base=merge_base, head=opened.head, recorded=recorded)


def _recorded_upstream(installed: Installed, name: str, opened: Opened) -> str | GitHubProblem | None:
    """The upstream commit that the author of the pull request, which is the daemon, wrote down last."""
    comments = installed.every(f"/repos/{name}/issues/{opened.number:d}/comments?per_page=100")
    if isinstance(comments, GitHubProblem):
        return comments
    records = [
        read_series_record(str(each.get("body") or "")).upstream
        for each in comments
        if isinstance(each, Mapping) and (each.get("user") or {}).get("login") == opened.author
    ]
    return next((each for each in reversed(records) if each is not None), None)


def _commit(installed: Installed, name: str, commit: str) -> BranchCommit | GitHubProblem:
    reply = installed.get(f"/repos/{name}/commits/{commit}")
    if isinstance(reply, GitHubProblem):
        return reply
    body: Any = reply.body
    try:
        return BranchCommit(
            commit=str(body["sha"]),
            parents=tuple(str(each["sha"]) for each in body["parents"]),
            # A list that goes on on another page is of no small change to CI: a commit without a list counts.
            paths=() if reply.more else tuple(str(each["filename"]) for each in body.get("files") or ()),
        )
    except (KeyError, TypeError):
        return GitHubProblem(kind="wrong", status=reply.status, message="GitHub's answer holds no commit")
