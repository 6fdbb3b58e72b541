"""Tracks where the App is installed and which repositories it reaches, by asking GitHub."""

from typing import Any

import structlog

from cliffwatch.failure import HttpFailure
from cliffwatch_service.github.parts import GitHubParts, raise_if_later
from cliffwatch_service.github.pull_requests.requesting import drop_all
from cliffwatch_service.github.webhooks.looks import is_repository_name
from cliffwatch_service.ingest.free_form import plain_text
from cliffwatch_service.store.github import installations, pull_requests
from cliffwatch_service.store.github.installations import RepositoryRow

_log = structlog.get_logger("cliffwatch.github")


def look_at_installation(parts: GitHubParts, number: int) -> None:
    """Updates the stored state and repositories of an installation from GitHub. Raises Refusal."""
    reply = parts.github.as_app("GET", f"/app/installations/{number:d}")
    if isinstance(reply, HttpFailure):
        raise_if_later(reply)
        if reply.is_gone:
            with parts.transaction() as connection:
                installations.set_installation_state(connection, number, "removed", parts.now())
            _drop(parts, number)
        _log.info("installation not read", installation=number, status=reply.status, reason=reply.message)
        return
    account = plain_text(str((reply.body.get("account") or {}).get("login", ""))[:100])
    if reply.body.get("suspended_at"):
        with parts.transaction() as connection:
            installations.keep_installation(connection, number, account, "suspended", parts.now())
        _drop(parts, number)
        _log.info("installation suspended", installation=number, account=account)
        return
    reached = parts.github.installed(number).every("/installation/repositories?per_page=100", "repositories")
    if isinstance(reached, HttpFailure):
        raise_if_later(reached)
        _log.warning(
            "repositories not read", installation=number, status=reached.status, reason=reached.message
        )
        return
    known = [(each["id"], each["full_name"]) for each in reached if _is_repository(each)]
    with parts.transaction() as connection:
        installations.keep_installation(connection, number, account, "active", parts.now())
        installations.keep_repositories(connection, number, known)
    _log.info("installation read", installation=number, account=account, repositories=len(known))


def _is_repository(each: Any) -> bool:
    return isinstance(each.get("id"), int) and is_repository_name(str(each.get("full_name")))


def _drop(parts: GitHubParts, number: int) -> None:
    """Cancels all work for an installation's open pull requests: nobody can receive the results."""
    with parts.transaction() as connection:
        for identity in pull_requests.open_of_installation(connection, number):
            drop_all(connection, identity, parts.now())


def find_reached_repository(parts: GitHubParts, installation: int, repository: int) -> RepositoryRow | None:
    """Returns a repository that an active installation reaches; None if it is out of reach.

    Asks GitHub if the repository is not stored. Raises Refusal.
    """
    row = _find_reached(parts, repository)
    if row is None or row.installation_id != installation:
        look_at_installation(parts, installation)
        row = _find_reached(parts, repository)
    return row


def is_reached(parts: GitHubParts, repository: int) -> bool:
    return _find_reached(parts, repository) is not None


def _find_reached(parts: GitHubParts, repository: int) -> RepositoryRow | None:
    with parts.transaction() as connection:
        row = installations.repository_row(connection, repository)
    return row if row is not None and row.allowed and row.installation_state == "active" else None


def refresh_after_refusal(parts: GitHubParts, installation: int, problem: HttpFailure) -> None:
    """Updates an installation after GitHub refused a request there. Raises Refusal."""
    raise_if_later(problem)
    if problem.status in (401, 403, 404, 410):
        look_at_installation(parts, installation)
