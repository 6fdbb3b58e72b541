"""A look at a pull request: what it is now decides what is measured, whatever webhooks said and in whatever order."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import structlog
from psycopg import Connection

from cliffwatch.failure import Failure
from cliffwatch.pull_request.mailing_list_series import CountingRange
from cliffwatch.pull_request.policy import DEFAULT, Policy
from cliffwatch_service.github.calling import GitHubProblem, Installed
from cliffwatch_service.github.installations import known_repository, note_lost
from cliffwatch_service.github.parts import GitHubParts, raise_if_later
from cliffwatch_service.github.pull_requests.measured_range import measured_range
from cliffwatch_service.github.pull_requests.opened import Opened, read_pull_request
from cliffwatch_service.github.pull_requests.policies import policy_of
from cliffwatch_service.github.pull_requests.requesting import Wish, drop_all, measure, supersede_others
from cliffwatch_service.github.pull_requests.selections import Selection, selection_of
from cliffwatch_service.refusal import Refusal
from cliffwatch_service.store import background
from cliffwatch_service.store.github import pull_requests

_log = structlog.get_logger("cliffwatch.github")


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A pull request as it is now, in a repository that the App reaches, and what holds for it."""

    repository: Mapping[str, Any]
    installed: Installed
    opened: Opened
    policy: Policy | Failure

    @property
    def name(self) -> str:
        return str(self.repository["name"])


def see(parts: GitHubParts, installation: int, repository: int, number: int) -> Seen | None:
    """None where the App does not reach it any more. Raises NotNow."""
    row = known_repository(parts, installation, repository)
    if row is None:
        _log.info("repository not reached", installation=installation, repository=repository)
        return None
    installed = parts.github.installed(installation)
    opened = read_pull_request(installed, row["name"], repository, number)
    if isinstance(opened, GitHubProblem):
        note_lost(parts, installation, opened)
        _log.info("pull request not read", repository=row["name"], number=number, reason=opened.message)
        return None
    policy = policy_of(installed, row, opened.base_branch)
    return Seen(repository=row, installed=installed, opened=opened, policy=policy)


def look_at_pull_request(parts: GitHubParts, installation: int, repository: int, number: int) -> None:
    """Measures a head that is new, cancels what it replaces, and has it told. Raises NotNow."""
    seen = see(parts, installation, repository, number)
    if seen is None:
        return
    with parts.transaction() as connection:
        known = pull_requests.pull_request_numbered(connection, repository, number)
    approved = known is not None and known["approved_head"] == seen.opened.head
    if seen.opened.open and (approved or _is_trusted(seen)):
        measure_seen(parts, seen)
        return
    with parts.transaction() as connection:
        row = _keep(connection, parts, seen, base=seen.opened.base)
        if seen.opened.open:
            supersede_others(connection, row["id"], seen.opened.head, parts.now())
            pull_requests.set_waits(connection, row["id"])
        else:
            drop_all(connection, row["id"], parts.now())
        background.ask_telling(connection, row["id"])
    _log.info("pull request waits" if seen.opened.open else "pull request closed", repository=seen.name, number=number)


def _is_trusted(seen: Seen) -> bool:
    return seen.opened.is_trusted(seen.policy if isinstance(seen.policy, Policy) else DEFAULT)


def measure_seen(
    parts: GitHubParts,
    seen: Seen,
    selection: Selection | None = None,
    *,
    base: str | None = None,
    approve: bool = False,
) -> str | None:
    """Measures what the policy says, or a `selection` in its place, against `base` where one is given; `approve` lets this head of
    an outsider go on. Answers why nothing can be measured, in words, or None. Raises NotNow.
    """
    problem: str | None = None
    counting: CountingRange | None = None
    if isinstance(seen.policy, Failure):
        problem = f"{seen.policy.message}: {seen.policy.next_step}"
    else:
        found = measured_range(seen.installed, seen.name, seen.opened)
        if isinstance(found, GitHubProblem):
            raise_if_later(found)
            problem = f"GitHub does not say what the merge base is ({found.message[:100]})"
        elif found.base == found.head:
            problem = "nothing but files for CI changed, so that there is nothing to measure"
        else:
            counting = found
    return _carry_out(parts, seen, counting, selection, base=base, approve=approve, problem=problem)


def _carry_out(
    parts: GitHubParts,
    seen: Seen,
    counting: CountingRange | None,
    selection: Selection | None,
    *,
    base: str | None,
    approve: bool,
    problem: str | None,
) -> str | None:
    opened, now = seen.opened, parts.now()
    with parts.transaction() as connection:
        before = base or (counting.base if counting else opened.base)
        row = _keep(connection, parts, seen, base=before)
        if approve:
            pull_requests.approve_head(connection, row["id"], opened.head)
        supersede_others(connection, row["id"], opened.head, now)
        if counting is not None and isinstance(seen.policy, Policy):
            wish = Wish(
                pull_request=row["id"],
                name=seen.name,
                number=opened.number,
                pull_head=opened.head,
                base=before,
                head=counting.head,
                version=opened.version,
                selection=selection or selection_of(seen.policy),
            )
            problem = _asked(connection, parts, wish)
        if problem is not None and selection is None:
            pull_requests.set_problem(connection, row["id"], problem)
        background.ask_telling(connection, row["id"])
    _log.info("pull request looked at", repository=seen.name, number=opened.number, problem=problem)
    return problem


def _asked(connection: Connection[Any], parts: GitHubParts, wish: Wish) -> str | None:
    """What was written for a refused request goes, and nothing else."""
    try:
        with connection.transaction():
            measure(connection, wish, parts.settings, parts.now())
    except Refusal as refusal:
        return refusal.detail
    return None


def _keep(connection: Connection[Any], parts: GitHubParts, seen: Seen, *, base: str) -> Mapping[str, Any]:
    opened = seen.opened
    policy = seen.policy if isinstance(seen.policy, Policy) else DEFAULT
    facts = pull_requests.PullRequestFacts(
        repository=seen.repository["id"],
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
