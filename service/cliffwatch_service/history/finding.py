"""Search: revisions, branches, tags, series and suites by what people type."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from psycopg import Connection

from cliffwatch.catalogue.load import load_catalogue
from cliffwatch.catalogue.suite import Suite
from cliffwatch_service.store import overview, trees
from cliffwatch_service.store.history import search
from cliffwatch_service.store.history.search import FoundNameRow, FoundRevisionRow
from cliffwatch_service.store.series import SeriesRow

MOST = 20
"""Most results of each kind."""

_MOST_WORDS = 20
_COMMIT = re.compile(rf"[0-9a-f]{{{trees.SHORTEST_PREFIX},64}}")
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Results of a search, at most MOST of each kind."""

    revisions: Sequence[FoundRevisionRow]
    branches: Sequence[FoundNameRow]
    tags: Sequence[FoundNameRow]
    suites: Sequence[Suite]
    series: Sequence[SeriesRow]

    def count(self) -> int:
        return sum(len(getattr(self, each.name)) for each in fields(self))


def find_everything(connection: Connection[Any], text: str) -> Found:
    """Finds what the text names. An empty text finds nothing.

    A revision is found by the beginning of its commit or of each word in its subject; everything else by any
    part of its name.
    """
    digits = text.lower()
    words = words_of(text)
    revisions = search.revisions_beginning(connection, digits, MOST) if is_commit(digits) else []
    revisions += search.revisions_about(connection, _WORD.findall(digits)[:_MOST_WORDS], MOST)
    return Found(
        revisions=list({row.commit: row for row in revisions}.values())[:MOST],
        branches=search.branches_named_like(connection, text, MOST) if text else [],
        tags=search.tags_named_like(connection, text, MOST) if text else [],
        suites=_suites(words),
        series=overview.series_of_case(connection, words, "", skip=0, limit=MOST) if words else [],
    )


def is_commit(digits: str) -> bool:
    """True for a commit, or the beginning of one that is long enough."""
    return _COMMIT.fullmatch(digits) is not None


def words_of(text: str) -> list[str]:
    """Splits a search into words.

    Drops commas and lone punctuation, because a copied title has commas between its parameters and dots
    between its parts.
    """
    return [
        word
        for word in text.lower().replace(",", " ").split()
        if any(character.isalnum() for character in word)
    ]


def _suites(words: Sequence[str]) -> list[Suite]:
    """Suites whose name or title has every word."""
    named = {suite.name: f"{suite.name} {suite.title}".lower() for suite in load_catalogue().suites}
    return [
        suite
        for suite in load_catalogue().suites
        if words and all(word in named[suite.name] for word in words)
    ][:MOST]
