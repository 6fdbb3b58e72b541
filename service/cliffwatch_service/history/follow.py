"""Follows branches: polls their trees and requests the comparisons that each branch's policy asks for."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

from psycopg import Connection

from cliffwatch.catalogue.discovery import AUTO
from cliffwatch.failure import Failure
from cliffwatch.formats.setup import Setup
from cliffwatch.formats.work import Priority
from cliffwatch.identities import digest_of
from cliffwatch.samples import is_rehearsal
from cliffwatch.trees.addresses import refuse_branch
from cliffwatch_service.history.backlog import add_to_backlog, take_from_backlog
from cliffwatch_service.history.git import branch_head, fetch_commits, first_parents, tags_of
from cliffwatch_service.history.watching.anchors import NO_ANCHOR, parts_of, refuse_anchor, settle_anchor
from cliffwatch_service.jobs.requests import RequestDraft, store_request
from cliffwatch_service.refusal import Refusal, not_found
from cliffwatch_service.store import follows, tokens, trees
from cliffwatch_service.store.follows import ASKER, FollowFacts, FollowRow, Policy

EACH_COMMIT: Sequence[Policy] = ("commit", "affected")

ONLY_AFFECTED = Setup(only_affected=True)
"""Leaves out unaffected cases: for most commits of a branch, no case executes a changed line."""

NIGHT = timedelta(hours=20)
"""Least time between two requests of the policy `nightly`."""

MOST_COMMITS = 50
"""Most commits of a push that are measured one by one. A larger push goes to the backlog (backlog.py)."""


@dataclass(frozen=True, slots=True)
class RevisionPair:
    """Two revisions to compare."""

    base: str
    head: str


def choose_pairs(
    policy: Policy, fresh: Sequence[str], before: str | None, requested: datetime | None, now: datetime
) -> list[RevisionPair]:
    """Returns the comparisons that a policy asks for.

    - `fresh`: commits of the branch since the last request, oldest first.
    - `before`: the commit that was requested last; None on the first look. The first look only records
      where the branch is, and asks for nothing.
    - `requested`: time of the last request; None if there was none.
    """
    if not fresh or before is None:
        return []
    if policy in EACH_COMMIT:
        return [RevisionPair(base, head) for base, head in pairwise([before, *fresh])]
    if policy == "nightly" and requested is not None and now - requested < NIGHT:
        return []
    return [RevisionPair(before, fresh[-1])]


def follow_branch(connection: Connection[Any], entry: FollowFacts, *, who: str, now: datetime) -> int:
    """Starts to follow a branch, or changes how it is followed. Returns the entry's number.

    Raises Refusal if the branch name, the suites or the anchor are not allowed.
    """
    wrong = refuse_branch(entry.branch)
    if wrong is not None:
        raise Refusal(422, "no branch", str(wrong))
    if AUTO in entry.suites:
        raise Refusal(
            422,
            "no suites",
            "a history needs the same cases of every commit, and `auto` chooses by each change: name suites,"
            " or `all`",
        )
    _refuse_rehearsals(entry)
    refuse_anchor(entry)
    tree = trees.keep_tree(connection, entry.tree, now)
    number = follows.keep_follow(connection, trees.keep_branch(connection, tree, entry.branch), entry)
    detail = {"tree": entry.tree, "branch": entry.branch, "policy": entry.policy}
    if entry.anchor is not None:
        detail["anchor"] = entry.anchor
    tokens.write_audit(connection, who=who, action="follow", what=str(number), detail=detail, now=now)
    return number


def _refuse_rehearsals(entry: FollowFacts) -> None:
    rehearsals = [platform for platform, _ in entry.targets if is_rehearsal(platform)]
    if rehearsals:
        raise Refusal(
            422,
            "no history",
            f"{', '.join(rehearsals)} is for rehearsals, which make no history:"
            " name a target of hardware, or emulated-x86-64:icount",
        )


def unfollow(connection: Connection[Any], number: int, *, who: str, now: datetime) -> None:
    if not follows.remove_follow(connection, number):
        raise not_found("followed branch", str(number))
    tokens.write_audit(connection, who=who, action="unfollow", what=str(number), detail={}, now=now)


def poll(connection: Connection[Any], number: int, git_dir: Path, now: datetime) -> int:
    """Polls a followed branch. Returns the number of requests made.

    Stores the branch's new revisions in order and its tree's tags, then requests what the policy asks for.
    """
    row = follows.follow_row(connection, number, lock=True)
    if row is None:
        return 0
    anchor = row.anchor_commit if row.anchor_problem is None else None
    asked = _ask(connection, row, _due(connection, row, now), anchor, "backlog", now)
    head = branch_head(row.tree, row.branch)
    if isinstance(head, Failure):
        follows.set_polled(connection, number, now, problem=str(head))
        return asked
    if head == row.head_commit and row.requested_commit in (head, None) and not _is_anchor_unknown(row):
        follows.set_polled(connection, number, now, problem=None)
        return asked
    mirror = git_dir / f"{digest_of(row.tree)}.git"
    mirror.parent.mkdir(parents=True, exist_ok=True)
    problem = fetch_commits(mirror, row.tree, row.branch, known=row.head_commit)
    line = first_parents(mirror, row.branch) if problem is None else []
    if problem is not None or not line:
        follows.set_polled(
            connection,
            number,
            now,
            problem=str(problem) if problem else "the branch has no commit",
        )
        return asked
    start = extend_branch(connection, row.branch_id, line)
    tags = tags_of(row.tree)
    if not isinstance(tags, Failure):  # on failure, the next push reads them again
        trees.keep_tags(connection, trees.keep_tree(connection, row.tree, now), tags)
    commits = [each.commit for each in line]
    anchor = settle_anchor(connection, row, commits, tags, git_dir, now)
    return asked + _request(connection, row, commits, start, anchor, now)


def _is_anchor_unknown(row: FollowRow) -> bool:
    """Whether the named anchor was not resolved to a commit yet."""
    return row.anchor not in (None, NO_ANCHOR) and row.anchor_commit is None and row.anchor_problem is None


def extend_branch(connection: Connection[Any], branch_id: int, line: Sequence[trees.RevisionFacts]) -> int:
    """Appends the newest commits of a branch, `line`, oldest first, to its stored commits.

    After a forced push, replaces the stored commits that the push removed. If no commit of `line` is stored,
    appends them all. Returns the index of the first new commit in `line`.
    """
    known = -1
    start = 0
    for index in range(len(line) - 1, -1, -1):
        ordinal = trees.ordinal_of(connection, branch_id, line[index].commit)
        if ordinal is not None:
            known, start = ordinal, index + 1
            break
    else:
        last = trees.last_ordinal(connection, branch_id)
        known = -1 if last is None else last
    ids = trees.keep_known_revisions(connection, line[start:])
    trees.set_branch_end(connection, branch_id, known + 1, ids)
    return start


def _due(connection: Connection[Any], row: FollowRow, now: datetime) -> list[RevisionPair]:
    due = take_from_backlog(connection, row, tokens.keep_asker(connection, ASKER, now), now)
    return [RevisionPair(each.base, each.head) for each in due]


def _request(
    connection: Connection[Any],
    row: FollowRow,
    line: Sequence[str],
    start: int,
    anchor: str | None,
    now: datetime,
) -> int:
    """Requests what the policy asks for. Returns the number of requests.

    `line` are the branch's newest commits, oldest first; those from index `start` on are new. Runs in
    walltime also measure `anchor`, unless it is None.
    """
    before = row.requested_commit
    if before is None:
        follows.set_requested(connection, row.id, head=line[-1], requested=line[-1], at=None, now=now)
        return 0
    fresh = line[line.index(before) + 1 :] if before in line else line[start:]
    if before not in line and start:  # a forced push: the base is the newest commit that it kept
        before = line[start - 1]
    if row.policy in EACH_COMMIT and len(fresh) > MOST_COMMITS:
        add_to_backlog(connection, row.id, before, fresh[-1], len(fresh), now)
        follows.set_requested(connection, row.id, head=line[-1], requested=line[-1], at=now, now=now)
        return _ask(connection, row, _due(connection, row, now), anchor, "backlog", now)
    wanted = choose_pairs(row.policy, fresh, before, row.requested, now)
    asked = _ask(connection, row, wanted, anchor, row.policy, now)
    done = wanted[-1].head if wanted else row.requested_commit
    assert done is not None
    at = now if wanted else row.requested
    follows.set_requested(connection, row.id, head=line[-1], requested=done, at=at, now=now)
    return asked


def _ask(
    connection: Connection[Any],
    row: FollowRow,
    wanted: Sequence[RevisionPair],
    anchor: str | None,
    why: str,
    now: datetime,
) -> int:
    """Requests comparisons. Returns the number of requests."""
    asker = tokens.keep_asker(connection, ASKER, now)
    priority: Priority = "push" if row.policy == "push" else "backfill"
    parts = [(wish, part) for wish in wanted for part in parts_of(row, wish.base, wish.head, anchor)]
    for wish, part in parts:
        asked = RequestDraft(
            tree=row.tree,
            base=wish.base,
            head=wish.head,
            targets=part.targets,
            suites=row.suites,
            profile=row.profile,
            boots="auto",
            priority=priority,
            note=f"{row.branch}, {why}",
            setup=ONLY_AFFECTED if row.policy == "affected" else part.setup,
        )
        key = f"{row.id} {wish.base} {wish.head} {part.anchor}".rstrip()
        store_request(connection, asked, key=key, token_id=asker, who=ASKER, now=now)
    return len(parts)
