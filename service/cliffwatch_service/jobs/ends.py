"""Checks base and head of requests, and finds the merge base if base is a branch."""

from typing import Any

from psycopg import Connection

from cliffwatch_service.refusal import Refusal
from cliffwatch_service.store import trees
from cliffwatch_service.store.history import ancestry
from cliffwatch_service.store.trees import RevisionRow


def refuse_ends(connection: Connection[Any], base: str, head: str) -> None:
    """Raises Refusal if base and head are the same commit, or if head is known to be an ancestor of base."""
    if base == head:
        raise Refusal(
            422,
            "nothing to compare",
            "base and head are the same commit:"
            " name another base, or send both as arms to see how well values repeat",
        )
    ours, theirs = (_find_revision(connection, commit) for commit in (base, head))
    if ours is not None and theirs is not None and ancestry.is_ancestor(connection, theirs.id, ours.id):
        raise Refusal(
            422,
            "head is older than base",
            f"head {head[:12]} is an ancestor of base {base[:12]}:"
            " exchange them, or name the commits that head adds",
        )


def base_on_branch(connection: Connection[Any], branch: str, tip: RevisionRow, head: str) -> str:
    """Returns the merge base of head and `branch`, whose newest commit is `tip`.

    Raises Refusal if the service does not know it.
    """
    known = _find_revision(connection, head)
    found = None if known is None else ancestry.merge_base(connection, tip.id, known.id)
    if found is None:
        raise Refusal(
            422,
            "no base",
            f"the merge base of the branch {branch} and head is not known here: give it as a commit,"
            f" as `git merge-base {branch} HEAD` prints it",
        )
    return found


def _find_revision(connection: Connection[Any], commit: str) -> RevisionRow | None:
    return next(iter(trees.revisions_named(connection, commit)), None)
