"""Sends news of regression reports as issues: one issue per report, later news as comments on it."""

from typing import Any

from cliffwatch.failure import HttpFailure
from cliffwatch_service.github.calling import InstallationClient, Reply
from cliffwatch_service.github.parts import GitHubParts
from cliffwatch_service.history.news.sending import NotSent, Sent
from cliffwatch_service.history.news.wording import NewsContent, issue_text, issue_title
from cliffwatch_service.runtime.destinations import allows_repository
from cliffwatch_service.store.github import installations
from cliffwatch_service.store.history.news.outbox import NewsRow

_OPEN_AGAIN = ("reopened",)
_ENDS = ("fixed", "closed")


def send_issue(
    parts: GitHubParts, name: str, whole: NewsContent, *, first: NewsRow, thread: str | None
) -> Sent | NotSent:
    """Opens the issue of a report in a repository (OWNER/NAME), or comments on the issue numbered `thread`.

    A hidden mark identifies each post, so a retry never posts twice, even if GitHub's answer was lost. The
    settings' list of allowed repositories is checked here, whoever calls.
    """
    if not allows_repository(parts.settings.news_repositories, name):
        return NotSent(
            reason="the settings do not allow this repository (CLIFFWATCH_NEWS_REPOSITORIES)", for_good=True
        )
    with parts.transaction() as connection:
        repository = installations.repository_named(connection, name)
    if repository is None or not repository.allowed or repository.installation_state != "active":
        return NotSent(
            reason=f"the App is not installed on {name}: `cliffwatch github status` shows where it is"
        )
    installed = parts.github.installed(repository.installation_id)
    mark = f"<!-- cliffwatch news {whole.news.digest} -->"
    if thread is None:
        return _open_issue(parts, installed, repository.name, whole, first, mark)
    return _continue_issue(installed, repository.name, int(thread), whole, mark)


def _open_issue(
    parts: GitHubParts,
    installed: InstallationClient,
    name: str,
    whole: NewsContent,
    first: NewsRow,
    mark: str,
) -> Sent | NotSent:
    identity = parts.files.identity()
    ours = installed.every(
        f"/repos/{name}/issues?state=all&creator={'' if identity is None else identity.login}"
    )
    if isinstance(ours, HttpFailure):
        return _not_sent(ours)
    number = _find_marked(ours, mark, "number")
    if number is None:
        made = installed.post(
            f"/repos/{name}/issues", {"title": issue_title(first), "body": f"{issue_text(whole)}\n{mark}"}
        )
        if isinstance(made, HttpFailure):
            return _not_sent(made)
        number = made.body.get("number")
    if not isinstance(number, int):
        return NotSent(reason="GitHub's answer holds no number of an issue")
    return _in_state(installed, name, number, whole)


def _continue_issue(
    installed: InstallationClient, name: str, number: int, whole: NewsContent, mark: str
) -> Sent | NotSent:
    comments = installed.every(f"/repos/{name}/issues/{number:d}/comments?per_page=100")
    if isinstance(comments, HttpFailure):
        return _not_sent(comments)
    if _find_marked(comments, mark, "id") is None:
        made = installed.post(
            f"/repos/{name}/issues/{number:d}/comments", {"body": f"{issue_text(whole)}\n{mark}"}
        )
        if isinstance(made, HttpFailure):
            return _not_sent(made)
    return _in_state(installed, name, number, whole)


def _in_state(installed: InstallationClient, name: str, number: int, whole: NewsContent) -> Sent | NotSent:
    """Closes or reopens the issue with its report."""
    changed: Reply | None = None
    if whole.news.kind in _ENDS:
        reason = "completed" if whole.news.state == "fixed" else "not_planned"
        changed = installed.patch(
            f"/repos/{name}/issues/{number:d}", {"state": "closed", "state_reason": reason}
        )
    elif whole.news.kind in _OPEN_AGAIN:
        changed = installed.patch(f"/repos/{name}/issues/{number:d}", {"state": "open"})
    return _not_sent(changed) if isinstance(changed, HttpFailure) else Sent(thread=str(number))


def _find_marked(items: list[Any], mark: str, member: str) -> object:
    for each in items:
        if isinstance(each, dict) and mark in str(each.get("body")):
            return each.get(member)
    return None


def _not_sent(problem: HttpFailure) -> NotSent:
    reason = problem.message
    if problem.status == 403:
        reason += "; the App needs the permission Issues: read and write"
    return NotSent(
        reason=reason,
        wait=problem.wait,
        for_good=problem.whose == "usage" and problem.status not in (0, 401, 403, 404, 410),
    )
