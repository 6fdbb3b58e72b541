"""Search by words: revisions by their subjects, branches and tags by their names."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from psycopg import Connection

from cliffwatch_service.postgres.rows import row_cursor


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRevisionRow:
    """A revision that was found."""

    commit: str
    subject: str | None
    measured: bool
    """Whether an arm of any run is of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundNameRow:
    """A branch or tag that was found."""

    name: str
    tree: str
    commit: str
    """The commit that it names; for a branch, its newest known commit."""


_SUBJECTS = """
SELECT commit, subject, EXISTS (SELECT FROM arm WHERE revision_id = revision.id) AS measured
FROM revision WHERE to_tsvector('simple', coalesce(subject, '')) @@ to_tsquery('simple', %(query)s)
ORDER BY id DESC LIMIT %(limit)s
"""


def revisions_about(connection: Connection[Any], words: Sequence[str], limit: int) -> list[FoundRevisionRow]:
    """Returns revisions whose subject has, for each of `words`, a word that begins with it.

    The newest known come first. Without words, returns none.
    """
    if not words:
        return []
    query = " & ".join("'" + word.replace("\\", "\\\\").replace("'", "''") + "':*" for word in words)
    return (
        row_cursor(connection, FoundRevisionRow)
        .execute(_SUBJECTS, {"query": query, "limit": limit})
        .fetchall()
    )


_COMMITS = """
SELECT commit, subject, EXISTS (SELECT FROM arm WHERE revision_id = revision.id) AS measured
FROM revision WHERE commit >= %(prefix)s AND commit < %(prefix)s || 'g' ORDER BY commit LIMIT %(limit)s
"""


def revisions_beginning(connection: Connection[Any], prefix: str, limit: int) -> list[FoundRevisionRow]:
    """Returns revisions whose commit starts with `prefix`."""
    return (
        row_cursor(connection, FoundRevisionRow)
        .execute(_COMMITS, {"prefix": prefix, "limit": limit})
        .fetchall()
    )


_BRANCHES = """
SELECT branch.name, tree.url AS tree, revision.commit
FROM branch JOIN tree ON tree.id = tree_id
JOIN LATERAL (SELECT revision_id FROM branch_revision WHERE branch_id = branch.id
    ORDER BY ordinal DESC LIMIT 1) AS tip ON true
JOIN revision ON revision.id = tip.revision_id
WHERE strpos(lower(branch.name), lower(%(text)s)) > 0 ORDER BY branch.name, branch.id LIMIT %(limit)s
"""


def branches_named_like(connection: Connection[Any], text: str, limit: int) -> list[FoundNameRow]:
    return row_cursor(connection, FoundNameRow).execute(_BRANCHES, {"text": text, "limit": limit}).fetchall()


_TAGS = """
SELECT tag.name, tree.url AS tree, commit FROM tag JOIN tree ON tree.id = tree_id
JOIN revision ON revision.id = revision_id
WHERE strpos(lower(tag.name), lower(%(text)s)) > 0
ORDER BY length(tag.name), tag.name, tree.id LIMIT %(limit)s
"""


def tags_named_like(connection: Connection[Any], text: str, limit: int) -> list[FoundNameRow]:
    """Returns tags, shortest names first: `v6.12` before `v6.12-rc1`."""
    return row_cursor(connection, FoundNameRow).execute(_TAGS, {"text": text, "limit": limit}).fetchall()
