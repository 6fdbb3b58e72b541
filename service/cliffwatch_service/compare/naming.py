"""Resolves names: revisions by commit prefix, tag or branch; runs by digest prefix."""

import re
from collections.abc import Sequence
from typing import Any

from psycopg import Connection

from cliffwatch_service.refusal import Refusal, not_found
from cliffwatch_service.store import runs, trees
from cliffwatch_service.store.runs import RunRow
from cliffwatch_service.store.trees import RevisionRow

_COMMIT = re.compile(rf"[0-9a-f]{{{trees.SHORTEST_PREFIX},64}}")
_RUN = re.compile(rf"[0-9a-f]{{{trees.SHORTEST_PREFIX},32}}")
_SHOWN = 12


def find_revision(connection: Connection[Any], name: str) -> RevisionRow:
    """Resolves a name to a revision: a commit prefix (upper or lower case), else a tag, else a branch.

    A branch means its newest measured revision. Raises Refusal if no revision or several match.
    """
    digits = name.lower()
    matches = trees.revisions_named(connection, digits) if _COMMIT.fullmatch(digits) else []
    if len(matches) > 1:
        raise Refusal(409, "several revisions", f"several revisions begin with {name}: give more digits")
    if matches:
        return matches[0]
    named = _of_ref(connection, name)
    if named is not None:
        return named
    if _COMMIT.fullmatch(digits):
        raise Refusal(
            404, "no such revision", f"no revision {name} was measured or followed here", revision=digits
        )
    raise Refusal(
        422,
        "no revision",
        f"{name[:80]!r} is no commit, tag or followed branch that is known here: of a commit give at least"
        f" {trees.SHORTEST_PREFIX} of its hexadecimal digits",
    )


def is_branch(connection: Connection[Any], name: str) -> bool:
    """True if `find_revision` resolves the name as a branch."""
    tag, branch = name.removeprefix("refs/tags/"), name.removeprefix("refs/heads/")
    is_commit = _COMMIT.fullmatch(name.lower()) and trees.revisions_named(connection, name.lower())
    return (
        name.isprintable()
        and not is_commit
        and not trees.find_tagged_revisions(connection, tag)
        and bool(trees.measured_tips(connection, branch))
    )


def _of_ref(connection: Connection[Any], name: str) -> RevisionRow | None:
    """Resolves a tag, else a branch; None if there is neither. Raises Refusal if several commits match."""
    if not name.isprintable():
        return None
    for kind, matches in (
        ("tag", trees.find_tagged_revisions(connection, name.removeprefix("refs/tags/"))),
        ("branch", trees.measured_tips(connection, name.removeprefix("refs/heads/"))),
    ):
        commits = {row.commit for row in matches}
        if len(commits) > 1:
            there = " and ".join(f"{row.commit[:_SHOWN]} in {row.tree}" for row in matches)
            raise Refusal(
                409, "several revisions", f"the {kind} {name} is {there}: give one of these commits"
            )
        if matches:
            return trees.revision_rows(connection, [matches[0].id])[matches[0].id]
    return None


def find_run(connection: Connection[Any], name: str) -> RunRow:
    """Returns the run whose digest starts with `name`. Raises Refusal if there is none or several."""
    matches = runs_beginning(connection, name)
    if not matches:
        raise not_found("run", name)
    if len(matches) > 1:
        raise Refusal(409, "several runs", f"several runs begin with {name}: give more digits")
    return matches[0]


def runs_beginning(connection: Connection[Any], name: str) -> Sequence[RunRow]:
    """Returns at most two runs whose digest starts with `name`; none if `name` cannot be a digest prefix."""
    digits = name.lower()
    return runs.runs_named(connection, digits) if _RUN.fullmatch(digits) else []
