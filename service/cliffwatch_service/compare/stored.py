"""Reads stored comparisons: their summaries and rows."""

from typing import Any

from psycopg import Connection

from cliffwatch.formats.comparison import ComparisonRow, ComparisonSummary
from cliffwatch.formats.reading import convert_to, read_as
from cliffwatch.formats.values import FreeJson
from cliffwatch.parsers.readings import Problem
from cliffwatch_service.ingest.boot_document import unpack_content
from cliffwatch_service.store import comparisons


def read_summary(content: FreeJson) -> ComparisonSummary:
    """Reads the summary of a comparison. Raises ValueError if the database holds an invalid one."""
    summary = convert_to(content, ComparisonSummary)
    if isinstance(summary, Problem):
        raise ValueError(f"a stored comparison cannot be read: {summary}")  # noqa: TRY004 - the database is at fault
    return summary


def read_stored_rows(connection: Connection[Any], identity: int) -> tuple[ComparisonRow, ...]:
    """Reads the rows of a comparison. Raises ValueError if the database holds invalid ones."""
    rows = read_as(rows_text(connection, identity), tuple[ComparisonRow, ...])
    if isinstance(rows, Problem):
        raise ValueError(f"the rows of comparison {identity} cannot be read: {rows}")  # noqa: TRY004 - as above
    return rows


def rows_text(connection: Connection[Any], identity: int) -> bytes:
    """Returns the rows of a comparison as an encoded JSON array."""
    return unpack_content(comparisons.rows_of(connection, identity))
