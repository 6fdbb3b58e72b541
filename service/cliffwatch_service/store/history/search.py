"""What people look for by words: revisions by their subjects, branches and tags by their names."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from psycopg import Connection

from cliffwatch_service.postgres.rows import typed


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRevisionRow:
    """A revision, and whether anything was measured of it."""

    commit: str
    subject: str | None
    measured: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundNameRow:
    """A branch or a tag, and the commit that it names; of a branch its newest known one."""

    name: str
    tree: str
    commit: str


_SUBJECTS = """
SELECT commit, subject, EXISTS (SELECT FROM arm WHERE revision_id = revision.id) AS measured
FROM revision WHERE to_tsvector('simple', coalesce(subject, '')) @@ to_tsquery('simple', %(query)s)
ORDER BY id DESC LIMIT %(limit)s
"""


def revisions_about(connection: Connection[Any], words: Sequence[str], limit: int) -> list[FoundRevisionRow]:
    """Revisions whose subjects hold words that begin with each of `words`, the newest known first; none without a word."""
    if not words:
        return []
    query = " & ".join("'" + word.replace("\\", "\\\\").replace("'", "''") + "':*" for word in words)
    return typed(connection, FoundRevisionRow).execute(_SUBJECTS, {"query": query, "limit": limit}).fetchall()


_COMMITS = """
SELECT commit, subject, EXISTS (SELECT FROM arm WHERE revision_id = revision.id) AS measured
FROM revision WHERE commit >= %(prefix)s AND commit < %(prefix)s || 'g' ORDER BY commit LIMIT %(limit)s
"""


def revisions_beginning(connection: Connection[Any], prefix: str, limit: int) -> list[FoundRevisionRow]:
    """Revisions whose commits begin with these digits."""
    return (
        typed(connection, FoundRevisionRow).execute(_COMMITS, {"prefix": prefix, "limit": limit}).fetchall()
    )


_BRANCHES = """
SELECT branch.name, tree.url AS tree, revision.commit
FROM branch JOIN tree ON tree.id = tree_id
JOIN LATERAL (SELECT revision_id FROM branch_revision WHERE branch_id = branch.id ORDER BY ordinal DESC LIMIT 1) AS tip ON true
JOIN revision ON revision.id = tip.revision_id
WHERE strpos(lower(branch.name), lower(%(text)s)) > 0 ORDER BY branch.name, branch.id LIMIT %(limit)s
"""


def branches_named_like(connection: Connection[Any], text: str, limit: int) -> list[FoundNameRow]:
    return typed(connection, FoundNameRow).execute(_BRANCHES, {"text": text, "limit": limit}).fetchall()


_TAGS = """
SELECT tag.name, tree.url AS tree, commit FROM tag JOIN tree ON tree.id = tree_id JOIN revision ON revision.id = revision_id
WHERE strpos(lower(tag.name), lower(%(text)s)) > 0 ORDER BY length(tag.name), tag.name, tree.id LIMIT %(limit)s
"""


def tags_named_like(connection: Connection[Any], text: str, limit: int) -> list[FoundNameRow]:
    """The shortest names first: `v6.12` before `v6.12-rc1`."""
    return typed(connection, FoundNameRow).execute(_TAGS, {"text": text, "limit": limit}).fetchall()
