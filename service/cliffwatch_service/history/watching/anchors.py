"""The anchor of a followed branch: one revision that its walltime runs measure beside base and head.

The anchor never changes, so any drift in it is the host's. Targets in icount have no anchor, because counted
values do not drift. Policies that measure every commit have none either.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from psycopg import Connection

from cliffwatch.failure import Failure, host_failed, wrong_usage
from cliffwatch.formats.setup import NO_SETUP, Setup, build_anchored_arms
from cliffwatch.identities import digest_of
from cliffwatch_service.history.git import missing_commit
from cliffwatch_service.refusal import Refusal
from cliffwatch_service.store import follows, tokens, trees
from cliffwatch_service.store.follows import ASKER, FollowFacts, FollowRow, Policy

NO_ANCHOR = "none"
"""Given in place of a revision to measure without an anchor."""

ANCHORED: Sequence[Policy] = ("push", "nightly")
"""Policies whose walltime runs have an anchor."""

_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./+-]{0,199}")


class Part(NamedTuple):
    """The part of a followed branch's targets that one request measures."""

    targets: list[tuple[str, str]]
    """Pairs of platform and mode."""
    setup: Setup
    anchor: str
    """Commit, as part of the request's key; empty without an anchor."""


def may_have_anchor(policy: Policy, targets: Sequence[Sequence[str]]) -> bool:
    return policy in ANCHORED and any(mode == "walltime" for _, mode in targets)


def refuse_anchor(entry: FollowFacts) -> None:
    """Raises Refusal if an entry's anchor is not a valid name, or if the entry can have no anchor."""
    if entry.anchor in (None, NO_ANCHOR):
        return
    if not _TAG.fullmatch(entry.anchor):
        raise Refusal(
            422,
            "no anchor",
            f"{entry.anchor[:80]!r} is no anchor: name a whole commit, a tag of the tree, or {NO_ANCHOR}",
        )
    if not may_have_anchor(entry.policy, entry.targets):
        raise Refusal(
            422,
            "no anchor",
            f"an anchor is measured in walltime, by the policies {' and '.join(ANCHORED)}: name such a target"
            " and policy, or no anchor",
        )


def settle_anchor(
    connection: Connection[Any],
    row: FollowRow,
    line: Sequence[str],
    tags: Mapping[str, str] | Failure,
    git_dir: Path,
    now: datetime,
) -> str | None:
    """Determines the anchor of a followed branch, and stores it. Returns its commit.

    None if the branch has no anchor, or if the tree does not provide it; the entry then stores the problem.
    `line` are the branch's newest commits, oldest first.

    If no anchor is named, it is the head of the branch when following began. If a forced push removed that
    commit, it is the present head.
    """
    if row.anchor == NO_ANCHOR or not may_have_anchor(row.policy, row.targets):
        commit, problem = None, None
    else:
        commit = row.anchor_commit or _find_named_commit(row, line, tags)
        problem = (
            _refuse_unresolved(row, tags)
            if commit is None
            else _find_missing(connection, row, commit, git_dir)
        )
        if problem is not None and row.anchor is None:
            commit, problem = line[-1], None
    words = None if problem is None else str(problem)
    if (commit, words) != (row.anchor_commit, row.anchor_problem):
        follows.set_anchor(connection, row.id, commit, words)
    if commit != row.anchor_commit:
        detail = {"before": row.anchor_commit or NO_ANCHOR, "now": commit or NO_ANCHOR}
        tokens.write_audit(connection, who=ASKER, action="anchor", what=str(row.id), detail=detail, now=now)
    return commit if problem is None else None


def _find_named_commit(row: FollowRow, line: Sequence[str], tags: Mapping[str, str] | Failure) -> str | None:
    if row.anchor is None:
        return row.requested_commit if row.requested_commit in line else line[-1]
    if _COMMIT.fullmatch(row.anchor):
        return row.anchor
    return None if isinstance(tags, Failure) else tags.get(row.anchor.removeprefix("refs/tags/"))


def _refuse_unresolved(row: FollowRow, tags: Mapping[str, str] | Failure) -> Failure:
    if isinstance(tags, Failure):
        return host_failed(
            f"the tags of the tree could not be read ({tags.message})", "they are read again at the next look"
        )
    return wrong_usage(f"the tree has no tag {row.anchor}", "name another anchor, by a tag or a whole commit")


def _find_missing(connection: Connection[Any], row: FollowRow, commit: str, git_dir: Path) -> Failure | None:
    """Fails if a commit is neither on the branch nor can be fetched."""
    if trees.ordinal_of(connection, row.branch_id, commit) is not None:
        return None
    missing = missing_commit(git_dir / f"{digest_of(row.tree)}.anchor.git", row.tree, commit)
    if missing is None:
        return None
    return wrong_usage(
        f"the tree does not give the anchor {commit[:12]} ({missing.message})", "name another one"
    )


def parts_of(row: FollowRow, base: str, head: str, anchor: str | None) -> list[Part]:
    """Splits the comparison of two revisions into parts, each requested separately.

    With an anchor, the targets in walltime form a separate part, which measures the anchor too.
    """
    targets = [(target[0], target[1]) for target in row.targets]
    if anchor is None:
        return [Part(targets, NO_SETUP, "")]
    timed = [target for target in targets if target[1] == "walltime"]
    others = [target for target in targets if target not in timed]
    setup = Setup(arms=build_anchored_arms(base, head, anchor))
    return [*([Part(others, NO_SETUP, "")] if others else []), Part(timed, setup, anchor)]
