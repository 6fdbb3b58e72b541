"""Finds revisions, branches, tags, suites and series by the text of a search."""

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
"""Most words that are searched in subjects; the others are ignored."""

_COMMIT = re.compile(rf"[0-9a-f]{{{trees.SHORTEST_PREFIX},64}}")
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchMatches:
    """Results of a search, at most MOST of each kind."""

    revisions: Sequence[FoundRevisionRow]
    branches: Sequence[FoundNameRow]
    tags: Sequence[FoundNameRow]
    suites: Sequence[Suite]
    series: Sequence[SeriesRow]

    def count(self) -> int:
        return sum(len(getattr(self, each.name)) for each in fields(self))


def find_everything(connection: Connection[Any], text: str) -> SearchMatches:
    """Returns the results of a search. An empty text finds nothing.

    - A revision matches by a prefix of its commit, or if every word begins a word of its subject.
    - A branch or tag matches if its name contains the text.
    - A suite or series matches if its title contains every word. A suite's name counts as part of its title.
    """
    digits = text.lower()
    words = words_of(text)
    revisions = search.revisions_beginning(connection, digits, MOST) if is_commit(digits) else []
    revisions += search.revisions_about(connection, _WORD.findall(digits)[:_MOST_WORDS], MOST)
    return SearchMatches(
        revisions=list({row.commit: row for row in revisions}.values())[:MOST],
        branches=search.branches_named_like(connection, text, MOST) if text else [],
        tags=search.tags_named_like(connection, text, MOST) if text else [],
        suites=_suites(words),
        series=overview.series_of_case(connection, words, "", skip=0, limit=MOST) if words else [],
    )


def is_commit(digits: str) -> bool:
    """Whether the text is a commit, or a prefix of one that is long enough to search for."""
    return _COMMIT.fullmatch(digits) is not None


def words_of(text: str) -> list[str]:
    """Splits a search into words.

    Drops commas and lone punctuation: a copied title has commas between its parameters and dots between its
    parts.
    """
    return [
        word
        for word in text.lower().replace(",", " ").split()
        if any(character.isalnum() for character in word)
    ]


def _suites(words: Sequence[str]) -> list[Suite]:
    """Returns the suites whose name and title together contain every word."""
    named = {suite.name: f"{suite.name} {suite.title}".lower() for suite in load_catalogue().suites}
    return [
        suite
        for suite in load_catalogue().suites
        if words and all(word in named[suite.name] for word in words)
    ][:MOST]
