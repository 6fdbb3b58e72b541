"""Trees, their revisions, and branches in first-parent order."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from psycopg import Connection

from cliffwatch_service.postgres.rows import fetch_single_row, row_cursor, values

SHORTEST_PREFIX = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionFacts:
    """What is known of a commit. None and empty mean unknown."""

    commit: str
    tree_hash: str | None = None
    parents: Sequence[str] = field(default=())
    author: str | None = None
    authored: datetime | None = None
    committed: datetime | None = None
    subject: str | None = None
    patch_id: str | None = None
    release: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionRow:
    """A stored revision. None and empty mean unknown."""

    id: int
    commit: str
    tree_hash: str | None
    parents: list[str]
    author: str | None
    authored: datetime | None
    committed: datetime | None
    subject: str | None
    patch_id: str | None
    release: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedRevisionRow:
    """A revision that a tag or a branch names."""

    id: int
    commit: str
    tree: str
    """Address."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchRow:
    """A branch."""

    id: int
    tree: str
    """Address."""
    branch: str


_REVISION = """
INSERT INTO revision (commit, tree_hash, parents, author, authored, committed, subject, patch_id, release)
VALUES (%(commit)s, %(tree_hash)s, %(parents)s, %(author)s, %(authored)s, %(committed)s, %(subject)s,
    %(patch_id)s, %(release)s)
ON CONFLICT (commit) DO UPDATE SET
    tree_hash = coalesce(revision.tree_hash, excluded.tree_hash),
    parents = CASE WHEN revision.parents = '{}' THEN excluded.parents ELSE revision.parents END,
    author = coalesce(revision.author, excluded.author),
    authored = coalesce(revision.authored, excluded.authored),
    committed = coalesce(revision.committed, excluded.committed),
    subject = coalesce(revision.subject, excluded.subject),
    patch_id = coalesce(revision.patch_id, excluded.patch_id),
    release = coalesce(revision.release, excluded.release)
RETURNING id
"""


_KNOWN_REVISION = """
INSERT INTO revision (commit, tree_hash, parents, author, authored, committed, subject)
VALUES (%(commit)s, %(tree_hash)s, %(parents)s, %(author)s, %(authored)s, %(committed)s, %(subject)s)
ON CONFLICT (commit) DO UPDATE SET
    tree_hash = coalesce(excluded.tree_hash, revision.tree_hash),
    parents = CASE WHEN excluded.parents = '{}'
        AND EXISTS (SELECT FROM branch_revision WHERE revision_id = revision.id)
        THEN revision.parents ELSE excluded.parents END,
    author = coalesce(excluded.author, revision.author),
    authored = coalesce(excluded.authored, revision.authored),
    committed = coalesce(excluded.committed, revision.committed),
    subject = coalesce(excluded.subject, revision.subject),
    patch_id = CASE WHEN EXISTS (SELECT FROM branch_revision WHERE revision_id = revision.id)
        THEN revision.patch_id END,
    release = CASE WHEN EXISTS (SELECT FROM branch_revision WHERE revision_id = revision.id)
        THEN revision.release END
RETURNING id
"""
"""Drops what only uploads claim, unless the revision is on a branch already."""


def keep_revision(connection: Connection[Any], facts: RevisionFacts, *, known: bool = False) -> int:
    """Stores a revision and returns its id. Stored facts stay, missing facts are filled in.

    Facts `known` from git itself take precedence over what uploads claim.
    """
    kept = values(connection, int).execute(
        _KNOWN_REVISION if known else _REVISION,
        {
            "commit": facts.commit,
            "tree_hash": facts.tree_hash,
            "parents": list(facts.parents),
            "author": facts.author,
            "authored": facts.authored,
            "committed": facts.committed,
            "subject": facts.subject,
            "patch_id": facts.patch_id,
            "release": facts.release,
        },
    )
    return fetch_single_row(kept)


def revision_on_a_branch(connection: Connection[Any], commit: str) -> int | None:
    """Returns the id of this commit's revision if it is on a branch."""
    query = (
        "SELECT id FROM revision WHERE commit = %s"
        " AND EXISTS (SELECT FROM branch_revision WHERE revision_id = revision.id)"
    )
    return values(connection, int).execute(query, [commit]).fetchone()


def keep_known_revisions(connection: Connection[Any], revisions: Sequence[RevisionFacts]) -> list[int]:
    """Stores revisions as git itself has them. They take precedence over what uploads claim."""
    return [keep_revision(connection, each, known=True) for each in revisions]


def keep_revisions(connection: Connection[Any], revisions: Sequence[RevisionFacts]) -> list[int]:
    return [keep_revision(connection, each) for each in revisions]


_REVISIONS = """
SELECT id, commit, tree_hash, parents, author, authored, committed, subject, patch_id, release FROM revision
"""


def revisions_named(connection: Connection[Any], prefix: str) -> list[RevisionRow]:
    """Returns at most two revisions whose commit starts with `prefix`."""
    query = _REVISIONS + " WHERE commit >= %s AND commit < %s ORDER BY commit LIMIT 2"
    return row_cursor(connection, RevisionRow).execute(query, [prefix, prefix + "g"]).fetchall()


def revision_rows(connection: Connection[Any], ids: Sequence[int]) -> dict[int, RevisionRow]:
    rows = (
        row_cursor(connection, RevisionRow)
        .execute(_REVISIONS + " WHERE id = ANY(%s)", [list(ids)])
        .fetchall()
    )
    return {row.id: row for row in rows}


def keep_tree(connection: Connection[Any], url: str, now: datetime) -> int:
    connection.execute("INSERT INTO tree (url, added) VALUES (%s, %s) ON CONFLICT DO NOTHING", [url, now])
    return fetch_single_row(values(connection, int).execute("SELECT id FROM tree WHERE url = %s", [url]))


def keep_branch(connection: Connection[Any], tree_id: int, name: str) -> int:
    connection.execute(
        "INSERT INTO branch (tree_id, name) VALUES (%s, %s) ON CONFLICT DO NOTHING", [tree_id, name]
    )
    query = "SELECT id FROM branch WHERE tree_id = %s AND name = %s"
    return fetch_single_row(values(connection, int).execute(query, [tree_id, name]))


def branch_named(connection: Connection[Any], tree: str, name: str) -> int | None:
    query = "SELECT branch.id FROM branch JOIN tree ON tree.id = tree_id WHERE url = %s AND branch.name = %s"
    return values(connection, int).execute(query, [tree, name]).fetchone()


def keep_tags(connection: Connection[Any], tree_id: int, tags: Mapping[str, str]) -> None:
    """Replaces the tags of a tree. `tags` are commits by name; tags of unknown revisions are left out."""
    connection.execute("DELETE FROM tag WHERE tree_id = %s AND NOT name = ANY(%s)", [tree_id, list(tags)])
    connection.execute(
        "INSERT INTO tag (tree_id, name, revision_id) SELECT %s, given.name, revision.id"
        " FROM unnest(%s::text[], %s::text[]) AS given(name, commit) JOIN revision USING (commit)"
        " ON CONFLICT (tree_id, name) DO UPDATE SET revision_id = excluded.revision_id",
        [tree_id, list(tags), list(tags.values())],
    )


def find_tagged_revisions(connection: Connection[Any], name: str) -> list[NamedRevisionRow]:
    """Returns the revisions that a tag names, one per tree."""
    query = (
        "SELECT revision.id, commit, url AS tree FROM tag JOIN revision ON revision.id = revision_id"
        " JOIN tree ON tree.id = tree_id WHERE name = %s ORDER BY url"
    )
    return row_cursor(connection, NamedRevisionRow).execute(query, [name]).fetchall()


_MEASURED_TIPS = """
SELECT tip.id, tip.commit, url AS tree
FROM branch JOIN tree ON tree.id = tree_id
CROSS JOIN LATERAL (
    SELECT revision.id, commit FROM branch_revision AS member JOIN revision ON revision.id = revision_id
    WHERE member.branch_id = branch.id
      AND EXISTS (SELECT FROM arm JOIN run ON run.id = run_id
          WHERE arm.revision_id = revision.id AND of_history)
    ORDER BY ordinal DESC LIMIT 1
) AS tip
WHERE branch.name = %s ORDER BY url
"""


def measured_tips(connection: Connection[Any], name: str) -> list[NamedRevisionRow]:
    """Returns the newest revision that runs of history measured, for every branch of this name."""
    return row_cursor(connection, NamedRevisionRow).execute(_MEASURED_TIPS, [name]).fetchall()


def set_branch_end(connection: Connection[Any], branch_id: int, first: int, revisions: Sequence[int]) -> None:
    """Replaces the revisions of a branch from ordinal `first` on. A forced push removes old ones."""
    connection.execute(
        "DELETE FROM branch_revision WHERE branch_id = %s AND ordinal >= %s", [branch_id, first]
    )
    connection.execute(
        "INSERT INTO branch_revision (branch_id, ordinal, revision_id)"
        " SELECT %s, %s + nth - 1, id FROM unnest(%s::int[]) WITH ORDINALITY AS given(id, nth)",
        [branch_id, first, list(revisions)],
    )


def last_ordinal(connection: Connection[Any], branch_id: int) -> int | None:
    """Returns the ordinal of the newest revision of a branch."""
    query = "SELECT ordinal FROM branch_revision WHERE branch_id = %s ORDER BY ordinal DESC LIMIT 1"
    return values(connection, int).execute(query, [branch_id]).fetchone()


def commit_at(connection: Connection[Any], branch_id: int, ordinal: int) -> str:
    """Returns the commit at an existing ordinal of a branch."""
    query = (
        "SELECT commit FROM branch_revision JOIN revision ON revision.id = revision_id"
        " WHERE branch_id = %s AND ordinal = %s"
    )
    return fetch_single_row(values(connection, str).execute(query, [branch_id, ordinal]))


def ordinal_of(connection: Connection[Any], branch_id: int, commit: str) -> int | None:
    query = (
        "SELECT ordinal FROM branch_revision JOIN revision ON revision.id = revision_id"
        " WHERE branch_id = %s AND commit = %s"
    )
    return values(connection, int).execute(query, [branch_id, commit]).fetchone()


def branches_of(connection: Connection[Any], revision_ids: Sequence[int]) -> list[int]:
    query = "SELECT DISTINCT branch_id FROM branch_revision WHERE revision_id = ANY(%s) ORDER BY 1"
    return values(connection, int).execute(query, [list(revision_ids)]).fetchall()


def list_branches(connection: Connection[Any]) -> list[BranchRow]:
    query = (
        "SELECT tree.url AS tree, branch.name AS branch, branch.id FROM branch"
        " JOIN tree ON tree.id = tree_id ORDER BY 1, 2"
    )
    return row_cursor(connection, BranchRow).execute(query).fetchall()


def branches_called(connection: Connection[Any], name: str, tree: str | None) -> list[BranchRow]:
    """Returns the branches of this name, of one tree or of all. `tree`: its address; None for all."""
    query = (
        "SELECT tree.url AS tree, branch.name AS branch, branch.id FROM branch JOIN tree ON tree.id = tree_id"
        " WHERE branch.name = %(name)s AND (%(tree)s::text IS NULL OR tree.url = %(tree)s) ORDER BY 1"
    )
    return row_cursor(connection, BranchRow).execute(query, {"name": name, "tree": tree}).fetchall()


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredRevisionRow:
    """A revision that runs measured, without its author."""

    id: int
    commit: str
    tree_hash: str | None
    parents: list[str]
    authored: datetime | None
    committed: datetime | None
    subject: str | None
    release: str | None


def revisions_of_runs(
    connection: Connection[Any], digests: Sequence[str], after: int
) -> list[MeasuredRevisionRow]:
    """Returns the next revisions of the arms of these runs, at most 1,000, with ids above `after`."""
    query = (
        "SELECT id, commit, tree_hash, parents, authored, committed, subject, release FROM revision"
        " WHERE id > %s AND EXISTS"
        " (SELECT FROM arm JOIN run ON run.id = run_id"
        " WHERE revision_id = revision.id AND run.digest = ANY(%s))"
        " ORDER BY id LIMIT 1000"
    )
    return row_cursor(connection, MeasuredRevisionRow).execute(query, [after, list(digests)]).fetchall()
