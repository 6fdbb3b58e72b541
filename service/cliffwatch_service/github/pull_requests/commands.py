"""Carries out commands in comments, for people who have write access to the repository at that moment."""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import structlog

from cliffwatch.failure import Failure, HttpFailure, wrong_usage
from cliffwatch.formats.values import FreeJson
from cliffwatch.pull_request.bench_command import HELP, BenchCommand, parse_bench_command
from cliffwatch.pull_request.policy import Policy
from cliffwatch.trees.addresses import refuse_branch
from cliffwatch_service.github.parts import GitHubParts, raise_if_later
from cliffwatch_service.github.pull_requests.opened import may_write
from cliffwatch_service.github.pull_requests.pull_request_look import (
    PullRequestNow,
    measure_now,
    pull_request_now,
)
from cliffwatch_service.github.pull_requests.requesting import cancel_all, has_running
from cliffwatch_service.github.pull_requests.selections import select_measurement
from cliffwatch_service.github.reporting.conversation import Conversation
from cliffwatch_service.jobs.targets import load_offered_targets
from cliffwatch_service.store import background, tokens
from cliffwatch_service.store.github import deliveries, pull_requests
from cliffwatch_service.store.github.deliveries import CommandOutcome

DECLINED = (
    "Thank you, but commands are for those who may write to this repository: a maintainer can ask for the"
    " benchmarks with `/bench`."
)
MOVED = "The pull request moved after this comment was written: look at its head, then say `/bench` again."
UNSEEN = (
    "This pull request was not known here when the comment was written, which may not mean its head of now:"
    " look at it, then say `/bench` again."
)
NO_BISECTION = "This service does not bisect yet: `/bench base=REV` measures against any commit."
_NO_SUCH_BASE = wrong_usage(
    "There is no such commit in this repository", "`base=` takes a commit, a tag or a branch of it"
)
_NOT_NEWER = wrong_usage(
    "The pull request's head is older than that base, which has all of its commits",
    "`base=` takes a commit that head adds to",
)
NOTHING_TO_CANCEL = "There was nothing left to cancel."

_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_log = structlog.get_logger("cliffwatch.github")


def carry_out(parts: GitHubParts, installation: int, repository: int, number: int, comment: int) -> None:
    """Carries out the command of a comment once, and answers it. Raises Refusal."""
    pull = pull_request_now(parts, installation, repository, number)
    if pull is None:
        return
    with parts.transaction() as connection:
        deliveries.keep_command(
            connection, comment=comment, repository=repository, number=number, now=parts.now(), came_now=False
        )
        row = deliveries.command_row(connection, comment)
    if row is None or row.outcome is not None or row.number != number:
        return
    outcome = _run_command(parts, pull, comment, row.head_known)
    with parts.transaction() as connection:
        deliveries.end_command(connection, comment, outcome, parts.now())


def _run_command(
    parts: GitHubParts, pull: PullRequestNow, comment: int, head_known: str | None
) -> CommandOutcome:
    conversation = Conversation(parts, pull.installed, pull.name, pull.opened.number)
    reply = pull.installed.get(f"/repos/{pull.name}/issues/comments/{comment:d}")
    if isinstance(reply, HttpFailure):
        raise_if_later(reply)
        return "gone"
    login, text = _read_comment(reply.body, pull)
    command = parse_bench_command(text)
    if command is None or login is None or login == conversation.login:
        return "gone"
    allowed = may_write(pull.installed, pull.name, login)
    if isinstance(allowed, HttpFailure):
        raise_if_later(allowed)
        allowed = False
    if not allowed:
        return _decline(parts, pull, conversation)
    if isinstance(command, Failure):
        conversation.react(comment, "confused")
        conversation.answer(f"{command.message} {command.next_step}", to=str(comment))
        return "wrong"
    _audit(parts, pull, login, command)
    return _carry_out(parts, pull, conversation, command, comment=comment, head_known=head_known)


def _read_comment(body: Any, pull: PullRequestNow) -> tuple[str | None, str]:
    """Returns the author and the current text of a comment.

    The author is None for a comment of another pull request and for a bot: its text may come from anybody.
    """
    of_this = isinstance(body, Mapping) and str(body.get("issue_url", "")).endswith(
        f"/issues/{pull.opened.number}"
    )
    if not of_this or not isinstance(body.get("user"), Mapping) or body["user"].get("type") == "Bot":
        return None, ""
    return str(body["user"].get("login")), str(body.get("body") or "")


def _decline(parts: GitHubParts, pull: PullRequestNow, conversation: Conversation) -> CommandOutcome:
    """Answers only once per pull request, so that repeated commands do not notify everybody."""
    with parts.transaction() as connection:
        row = pull_requests.pull_request_numbered(connection, pull.repository.id, pull.opened.number)
    if row is None or not row.declined:
        conversation.answer(DECLINED, to="declined")
        with parts.transaction() as connection:
            if row is not None:
                pull_requests.set_declined(connection, row.id)
    return "declined"


def _audit(parts: GitHubParts, pull: PullRequestNow, login: str, command: BenchCommand) -> None:
    what = f"{pull.name}#{pull.opened.number}"
    detail = {"verb": command.verb, "head": pull.opened.head}
    with parts.transaction() as connection:
        tokens.write_audit(
            connection,
            who=f"github {login}"[:200],
            action="bench-command",
            what=what,
            detail=detail,
            now=parts.now(),
        )
    _log.info("command", verb=command.verb, by=login, pull_request=what)


def _carry_out(
    parts: GitHubParts,
    pull: PullRequestNow,
    conversation: Conversation,
    command: BenchCommand,
    *,
    comment: int,
    head_known: str | None,
) -> CommandOutcome:
    if command.verb in ("help", "bisect"):
        conversation.answer(HELP if command.verb == "help" else NO_BISECTION, to=str(comment))
        return "done"
    if command.verb == "cancel":
        return _cancel_jobs(parts, pull, conversation, comment)
    if head_known != pull.opened.head and not _has_trusted_head(pull):
        with parts.transaction() as connection:
            row = pull.repository
            background.ask_pull_request(connection, row.installation_id, row.id, pull.opened.number)
        conversation.answer(UNSEEN if head_known is None else MOVED, to=str(comment))
        return "done"
    problem = _request_measurement(parts, pull, command, comment)
    if problem is None:
        conversation.react(comment, "rocket")
        return "done"
    conversation.react(comment, "confused")
    conversation.answer(f"{problem}.", to=str(comment))
    return "wrong"


def _has_trusted_head(pull: PullRequestNow) -> bool:
    """True if everybody who can push to head is trusted.

    Such a head may be measured even if it moved after the command.
    """
    return pull.opened.is_trusted(pull.policy) if isinstance(pull.policy, Policy) else pull.opened.own


def _request_measurement(
    parts: GitHubParts, pull: PullRequestNow, command: BenchCommand, comment: int
) -> Failure | None:
    """Requests what a command asks for."""
    if not isinstance(pull.policy, Policy):
        return measure_now(parts, pull, approve=True)
    with parts.transaction() as connection:
        there = load_offered_targets(connection)
    selection = select_measurement(pull.policy, command, there, comment)
    if isinstance(selection, Failure):
        return selection
    base = _resolve_base(pull, command.base) if command.base is not None else None
    if isinstance(base, Failure):
        return base
    return measure_now(parts, pull, selection, base=base, approve=True)


def _resolve_base(pull: PullRequestNow, revision: str) -> str | Failure:
    """Resolves the base of a command to a commit; a branch that diverged from head means the merge base.

    Fails if the pull request adds nothing to the base, or if there is no such commit.
    """
    if refuse_branch(revision) is not None:
        return _NO_SUCH_BASE
    commit = _ask_github(pull, f"commits/{quote(revision, safe='')}").get("sha")
    if not isinstance(commit, str) or not _COMMIT.fullmatch(commit):
        return _NO_SUCH_BASE
    compared = _ask_github(pull, f"compare/{commit}...{pull.opened.head}?per_page=1")
    if compared.get("status") in ("behind", "identical"):
        return _NOT_NEWER
    if compared.get("status") != "diverged" or not _ask_github(pull, f"git/ref/heads/{quote(revision)}"):
        return commit
    common = compared.get("merge_base_commit")
    return (
        str(common["sha"])
        if isinstance(common, Mapping) and _COMMIT.fullmatch(str(common.get("sha")))
        else _NO_SUCH_BASE
    )


def _ask_github(pull: PullRequestNow, path: str) -> FreeJson:
    """Returns GitHub's answer about the repository; empty on permanent problems. Raises Refusal."""
    reply = pull.installed.get(f"/repos/{pull.name}/{path}")
    if isinstance(reply, HttpFailure):
        raise_if_later(reply)
        return {}
    return reply.body if isinstance(reply.body, dict) else {}


def _cancel_jobs(
    parts: GitHubParts, pull: PullRequestNow, conversation: Conversation, comment: int
) -> CommandOutcome:
    """Cancels unfinished jobs. Reacts first: a retry after a failed reaction would find nothing to cancel."""
    with parts.transaction() as connection:
        row = pull_requests.pull_request_numbered(connection, pull.repository.id, pull.opened.number)
        running = row is not None and has_running(connection, row.id)
    if row is None or not running:
        conversation.answer(NOTHING_TO_CANCEL, to=str(comment))
        return "done"
    conversation.react(comment, "+1")
    with parts.transaction() as connection:
        cancel_all(connection, row.id, parts.now())
        background.defer_pull_request_report(connection, row.id)
    return "done"
