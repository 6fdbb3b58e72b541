"""The backlog of a followed branch: ranges of commits that are too long to measure at once.

The longest range is compared first, the newest of equally long ones. Then its halves follow.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

from psycopg import Connection

from cliffwatch.counting import count_noun
from cliffwatch_service.compare.naming import find_revision
from cliffwatch_service.refusal import Refusal, not_found
from cliffwatch_service.store import follows, tokens, trees
from cliffwatch_service.store.follows import FollowRow
from cliffwatch_service.store.history import backlog
from cliffwatch_service.store.history.backlog import BacklogRow, NewRange

MOST_WAITING = 50
"""Most jobs of a followed branch that may be queued or running when its backlog adds more."""


class Range(NamedTuple):
    """Two revisions of a branch to compare."""

    base: str
    head: str


def add_to_backlog(
    connection: Connection[Any], follow_id: int, base: str, head: str, commits: int, now: datetime
) -> bool:
    """Puts a range of the branch into its backlog, to be measured down to every commit.

    Returns whether the range is new.
    """
    whole = NewRange(base_commit=base, head_commit=head, commits=commits, measured=True)
    return backlog.keep_range(connection, follow_id, whole, now)


def take_from_backlog(
    connection: Connection[Any], row: FollowRow, token_id: int, now: datetime
) -> list[Range]:
    """Takes the ranges that are due from the backlog.

    Takes as many as MOST_WAITING allows beside the queued and running jobs, and puts their halves back.
    """
    room = MOST_WAITING - backlog.waiting_jobs(connection, row.id, token_id)
    due: list[Range] = []
    while len(due) * len(row.targets) < room:
        entry = backlog.longest_range(connection, row.id)
        if entry is None:
            break
        backlog.remove_range(connection, entry.id)
        if entry.base_ordinal is None or entry.head_ordinal is None:
            _give_up(connection, row, entry, now)
            continue
        if entry.measured:
            due.append(Range(entry.base_commit, entry.head_commit))
        for half in _halves(connection, row.branch_id, entry):
            backlog.keep_range(connection, row.id, half, now)
    return due


def _give_up(connection: Connection[Any], row: FollowRow, entry: BacklogRow, now: datetime) -> None:
    """Records that a forced push removed the range from the branch."""
    detail = {"base": entry.base_commit, "head": entry.head_commit, "why": "no longer on the branch"}
    tokens.write_audit(connection, who="follow", action="leave out", what=str(row.id), detail=detail, now=now)


def _halves(connection: Connection[Any], branch_id: int, entry: BacklogRow) -> Iterator[NewRange]:
    """Yields both halves of a range, or nothing for a single commit.

    The newer half itself is compared only if it is a single commit. Otherwise only its halves are: the range
    and the older half measure both of its ends.
    """
    if entry.commits < 2 or entry.base_ordinal is None or entry.head_ordinal is None:
        return
    place = (entry.base_ordinal + entry.head_ordinal) // 2
    middle = trees.commit_at(connection, branch_id, place)
    newer, older = entry.head_ordinal - place, place - entry.base_ordinal
    yield NewRange(base_commit=middle, head_commit=entry.head_commit, commits=newer, measured=newer == 1)
    yield NewRange(base_commit=entry.base_commit, head_commit=middle, commits=older, measured=True)


def backfill(
    connection: Connection[Any], follow_id: int, base: str, head: str, *, who: str, now: datetime
) -> int:
    """Puts a range of a followed branch into its backlog, to be measured down to every commit.

    Returns the number of commits. Raises Refusal if the branch is not followed, if either revision is not on
    it, or if `base` is not before `head`.
    """
    row = follows.follow_row(connection, follow_id)
    if row is None:
        raise not_found("followed branch", str(follow_id))
    (older, first), (newer, last) = (_place(connection, row, name) for name in (base, head))
    if first >= last:
        raise Refusal(
            422, "no range", f"{base} is not before {head} on {row.branch}: name the older revision first"
        )
    add_to_backlog(connection, follow_id, older, newer, last - first, now)
    detail = {"base": older, "head": newer, "commits": count_noun(last - first, "commit")}
    tokens.write_audit(connection, who=who, action="backfill", what=str(follow_id), detail=detail, now=now)
    return last - first


def _place(connection: Connection[Any], row: FollowRow, name: str) -> tuple[str, int]:
    """Returns a revision's commit and its place on the branch. Raises Refusal if it is not on the branch."""
    commit = find_revision(connection, name).commit
    place = trees.ordinal_of(connection, row.branch_id, commit)
    if place is None:
        raise Refusal(
            422,
            "not on the branch",
            f"{name} is not among the first-parent commits of {row.branch} that the service knows: name one"
            " of these",
        )
    return commit, place
