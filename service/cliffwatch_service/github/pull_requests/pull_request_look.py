"""Looks at a pull request and requests its measurement.

Only its current state at GitHub decides, not the content or the order of webhooks.
"""

from base64 import b64decode
from binascii import Error
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

import structlog
from psycopg import Connection

from cliffwatch.failure import Failure, HttpFailure, wrong_usage
from cliffwatch.pull_request.mailing_list_series import MeasuredRange, read_series_branch
from cliffwatch.pull_request.policy import DEFAULT, FILE_NAME, LARGEST, Policy, read_policy
from cliffwatch_service.github.calling import InstallationClient
from cliffwatch_service.github.installations import find_reached_repository, refresh_after_refusal
from cliffwatch_service.github.parts import GitHubParts, raise_if_later
from cliffwatch_service.github.pull_requests.measured_range import load_measured_range
from cliffwatch_service.github.pull_requests.opened import GitHubPullRequest, read_pull_request
from cliffwatch_service.github.pull_requests.requesting import (
    MeasurementRequest,
    drop_all,
    request_measurement,
    supersede_others,
)
from cliffwatch_service.github.pull_requests.selections import Selection, refuse_unaffected, selection_of
from cliffwatch_service.refusal import Refusal
from cliffwatch_service.store import background
from cliffwatch_service.store.github import pull_requests
from cliffwatch_service.store.github.installations import RepositoryRow

_log = structlog.get_logger("cliffwatch.github")


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequestNow:
    """Current state of a pull request in a reachable repository, and its policy."""

    repository: RepositoryRow
    installed: InstallationClient
    opened: GitHubPullRequest
    policy: Policy | Failure
    """Failure if the policy cannot be read."""

    @property
    def name(self) -> str:
        """Repository as OWNER/NAME."""
        return self.repository.name


def pull_request_now(
    parts: GitHubParts, installation: int, repository: int, number: int
) -> PullRequestNow | None:
    """Reads a pull request from GitHub; None if the App no longer reaches it. Raises Refusal."""
    row = find_reached_repository(parts, installation, repository)
    if row is None:
        _log.info("repository not reached", installation=installation, repository=repository)
        return None
    installed = parts.github.installed(installation)
    opened = read_pull_request(installed, row.name, repository, number)
    if isinstance(opened, HttpFailure):
        refresh_after_refusal(parts, installation, opened)
        _log.info("pull request not read", repository=row.name, number=number, reason=opened.message)
        return None
    policy = policy_of(installed, row, opened.base_branch)
    return PullRequestNow(repository=row, installed=installed, opened=opened, policy=policy)


def look_at_pull_request(parts: GitHubParts, installation: int, repository: int, number: int) -> None:
    """Requests measurement of a new head, cancels the work that it replaces and reports. Raises Refusal."""
    pull = pull_request_now(parts, installation, repository, number)
    if pull is None:
        return
    with parts.transaction() as connection:
        known = pull_requests.pull_request_numbered(connection, repository, number)
    approved = known is not None and known.approved_head == pull.opened.head
    if pull.opened.open and (approved or _is_trusted(pull)):
        measure_now(parts, pull)
        return
    with parts.transaction() as connection:
        identity = _keep(connection, parts, pull, base=pull.opened.base)
        if pull.opened.open:
            supersede_others(connection, identity, pull.opened.head, parts.now())
            pull_requests.set_waits(connection, identity)
        else:
            drop_all(connection, identity, parts.now())
        background.defer_pull_request_report(connection, identity)
    _log.info(
        "pull request waits" if pull.opened.open else "pull request closed",
        repository=pull.name,
        number=number,
    )


def _is_trusted(pull: PullRequestNow) -> bool:
    return pull.opened.is_trusted(pull.policy if isinstance(pull.policy, Policy) else DEFAULT)


def measure_now(
    parts: GitHubParts,
    pull: PullRequestNow,
    selection: Selection | None = None,
    *,
    base: str | None = None,
    approve: bool = False,
) -> Failure | None:
    """Requests measurement of the pull request's head. Fails if nothing is measured.

    `selection` replaces the policy's selection, and `base` the merge base. `approve` records that a
    maintainer approved this head of an outsider. Raises Refusal.
    """
    problem: Failure | None = None
    counting: MeasuredRange | None = None
    if isinstance(pull.policy, Failure):
        problem = pull.policy
    else:
        found = load_measured_range(pull.installed, pull.name, pull.opened)
        if isinstance(found, HttpFailure):
            raise_if_later(found)
            problem = replace(
                found, message=f"GitHub does not say what the merge base is ({found.message[:100]})"
            )
        elif found.base == found.head:
            problem = wrong_usage(
                "nothing but files for CI changed, so that there is nothing to measure",
                "push a commit that changes other files",
            )
        else:
            problem = refuse_unaffected(selection or selection_of(pull.policy), found.paths)
            counting = found if problem is None else None
    return _carry_out(parts, pull, counting, selection, base=base, approve=approve, problem=problem)


def _carry_out(
    parts: GitHubParts,
    pull: PullRequestNow,
    counting: MeasuredRange | None,
    selection: Selection | None,
    *,
    base: str | None,
    approve: bool,
    problem: Failure | None,
) -> Failure | None:
    opened, now = pull.opened, parts.now()
    with parts.transaction() as connection:
        before = base or (counting.base if counting else opened.base)
        identity = _keep(connection, parts, pull, base=before)
        if approve:
            pull_requests.approve_head(connection, identity, opened.head)
        supersede_others(connection, identity, opened.head, now)
        if counting is not None and isinstance(pull.policy, Policy):
            request = MeasurementRequest(
                pull_request=identity,
                name=pull.name,
                number=opened.number,
                pull_head=opened.head,
                base=before,
                head=counting.head,
                version=opened.version,
                selection=selection or selection_of(pull.policy),
            )
            problem = _try_measure(connection, parts, request)
        if problem is not None and selection is None:
            pull_requests.set_problem(connection, identity, str(problem))
        background.defer_pull_request_report(connection, identity)
    _log.info(
        "pull request looked at",
        repository=pull.name,
        number=opened.number,
        problem=problem and problem.message,
    )
    return problem


def _try_measure(
    connection: Connection[Any], parts: GitHubParts, request: MeasurementRequest
) -> Failure | None:
    """Requests a measurement. A refusal rolls back only its own writes."""
    try:
        with connection.transaction():
            request_measurement(connection, request, parts.settings, parts.now())
    except Refusal as refusal:
        return wrong_usage(refusal.title, refusal.detail)
    return None


def _keep(connection: Connection[Any], parts: GitHubParts, pull: PullRequestNow, *, base: str) -> int:
    opened = pull.opened
    policy = pull.policy if isinstance(pull.policy, Policy) else DEFAULT
    facts = pull_requests.PullRequestFacts(
        repository=pull.repository.id,
        number=opened.number,
        state="open" if opened.open else "closed",
        head=opened.head,
        base=base,
        targets=selection_of(policy).targets,
        fail_on=policy.fail_on,
        series=opened.series.series if opened.series is not None else None,
        version=opened.version,
    )
    return pull_requests.keep_pull_request(connection, facts, parts.now())


def policy_of(installed: InstallationClient, repository: RepositoryRow, base_branch: str) -> Policy | Failure:
    """Returns the policy for pull requests to a branch. Raises Refusal."""
    if repository.policy is not None:
        return read_policy(repository.policy, "policy of the service")
    if read_series_branch(base_branch) is not None:
        return DEFAULT  # files of a series branch came by mail, from anybody
    path = f"/repos/{repository.name}/contents/{FILE_NAME}?ref={quote(f'refs/heads/{base_branch}', safe='')}"
    reply = installed.get(path)
    if isinstance(reply, HttpFailure):
        raise_if_later(reply)
        if reply.is_gone:
            return DEFAULT
        return wrong_usage(
            f"{FILE_NAME} of the base branch cannot be read ({reply.status})",
            "give the App the right to read contents",
        )
    text = _text_of(reply.body)
    return text if isinstance(text, Failure) else read_policy(text, FILE_NAME)


def _text_of(body: Any) -> str | Failure:
    wrong = wrong_usage(
        f"{FILE_NAME} of the base branch is no text file of at most {LARGEST} bytes", "make it one"
    )
    if not isinstance(body, Mapping) or body.get("type") != "file" or body.get("encoding") != "base64":
        return wrong
    try:
        content = b64decode(str(body.get("content", "")))
        return content.decode() if len(content) <= LARGEST else wrong
    except (Error, UnicodeDecodeError):
        return wrong
