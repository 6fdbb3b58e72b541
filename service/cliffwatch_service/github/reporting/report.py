"""Updates a pull request's sticky comment, its check run and the notification of confirmed regressions."""

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
"""Shortest time between updates that only change expected times and boot counts.

These change all the time, and GitHub accepts 500 comments an hour from an App.
"""

_log = structlog.get_logger("cliffwatch.github")


def report_pull_request(parts: GitHubParts, identity: int) -> None:
    """Posts the state of a pull request if it has changed. Raises Refusal.

    Tasks of one pull request do not overlap. Each posts the state at the time it runs, under an increasing
    sequence. A late task therefore posts the newest state or is rejected.
    """
    with parts.transaction() as connection:
        row = pull_requests.pull_request_row(connection, identity)
        if row is None or not row.reachable:
            return
        state = state_of(connection, row, parts.settings.pages_url, parts.now())
    if not state.targets or _is_unreported(row, state):
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
    """Returns the state of a replaced head. It ends the check run, which would otherwise run forever."""
    targets = tuple(replace(each, progress=Superseded(by=state.head)) for each in state.targets)
    return replace(state, head=head, targets=targets, links=(), earlier=None, notes=())


def _is_unreported(row: PullRequestRow, state: PullRequestState) -> bool:
    """True if a pull request was closed before anything was posted."""
    return row.state == "closed" and row.shown is None and not state.measured()


def _digests(state: PullRequestState, fail_on: FailOn) -> str:
    """Returns two digests: of the kinds of progress, and of the whole text that is posted."""
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
