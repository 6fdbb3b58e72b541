"""Brings what a pull request is told up to date: its comment, its check run, and the second comment for what
is confirmed.
"""

from dataclasses import replace
from datetime import datetime, timedelta

import structlog

from cliffwatch.identities import digest_of
from cliffwatch.pull_request.comment import FailOn, check_run, regression_comment, sticky_comment
from cliffwatch.pull_request.state import Failed, PullRequestState, Superseded
from cliffwatch_service.github.parts import GitHubParts
from cliffwatch_service.github.reporting.conversation import Conversation
from cliffwatch_service.github.reporting.progress import state_of
from cliffwatch_service.store.github import pull_requests
from cliffwatch_service.store.github.pull_requests import PullRequestRow

PROGRESS_EVERY = timedelta(minutes=5)
"""Expected times and counts of boots change all the time: GitHub takes 500 comments of an App an hour."""

_log = structlog.get_logger("cliffwatch.github")


def report_pull_request(parts: GitHubParts, identity: int) -> None:
    """Posts what is new. Tasks of one pull request do not overlap; each writes what is so when it runs, under
    a sequence that grows, so that one that is late has the newest content or is turned away. Raises
    NotNow.
    """
    with parts.transaction() as connection:
        row = pull_requests.pull_request_row(connection, identity)
        if row is None or not row.reachable:
            return
        state = state_of(connection, row, parts.settings.pages_url, parts.now())
    if not state.targets or _never_heard_of(row, state):
        return
    shown = _digests(state, _fail_on(row.fail_on))
    if not _is_news(row, shown, parts.now()):
        return
    with parts.transaction() as connection:
        state = replace(state, sequence=pull_requests.next_sequence(connection, identity))
    installed = parts.github.installed(row.installation_id)
    conversation = Conversation(parts, installed, row.repository, row.number)
    if row.checked_head not in (None, state.head):
        conversation.check(row.checked_head, check_run(_superseded_state(state, row.checked_head)))
    conversation.report(sticky_comment(state))
    check = check_run(state, fail_on=_fail_on(row.fail_on))
    if "failed" in row.fail_on and check.conclusion == "neutral" and _kernel_failed(state):
        check = replace(check, conclusion="failure")
    conversation.check(state.head, check)
    again = regression_comment(state)
    if again is not None:
        conversation.notify(again)
    running = None if check.status == "completed" else state.head
    with parts.transaction() as connection:
        pull_requests.keep_shown(connection, identity, state.sequence, shown, running, parts.now())
    _log.info("reported", repository=row.repository, number=row.number, sequence=state.sequence)


def _superseded_state(state: PullRequestState, head: str) -> PullRequestState:
    """The state of a head that another one replaced, for its check run: else that would run for ever."""
    targets = tuple(replace(each, progress=Superseded(by=state.head)) for each in state.targets)
    return replace(state, head=head, targets=targets, links=(), earlier=None, notes=())


def _never_heard_of(row: PullRequestRow, state: PullRequestState) -> bool:
    """A pull request that was closed before anything was said."""
    return row.state == "closed" and row.shown is None and not state.measured()


def _digests(state: PullRequestState, fail_on: FailOn) -> str:
    """Of the kind of progress, and of everything that is said."""
    kinds = [type(each.progress).__name__ for each in state.targets]
    coarse = digest_of([state.head, state.base, kinds, list(state.notes)])
    unnumbered = replace(state, sequence=0)
    said = [sticky_comment(unnumbered), check_run(unnumbered, fail_on=fail_on).title]
    return f"{coarse} {digest_of(said)}"


def _is_news(row: PullRequestRow, shown: str, now: datetime) -> bool:
    if row.shown is None or row.posted is None:
        return True
    if row.shown == shown:
        return False
    same_kind = row.shown.split()[0] == shown.split(maxsplit=1)[0]
    return not same_kind or now - row.posted >= PROGRESS_EVERY


def _kernel_failed(state: PullRequestState) -> bool:
    return any(
        isinstance(each.progress, Failed) and each.progress.failure.whose == "kernel"
        for each in state.targets
    )


def _fail_on(verdicts: list[str]) -> FailOn:
    return "confirmed" if "regression" in verdicts else "never"
