"""Comparisons as they are stored, read as their types: a summary, and its rows, of whatever version."""

from typing import Any

import msgspec
from psycopg import Connection

from cliffwatch.formats.comparison import ComparisonRow, ComparisonSummary
from cliffwatch.formats.comparison_reading import read_rows, summary_of
from cliffwatch.formats.reading import Wrong
from cliffwatch.formats.values import FreeJson
from cliffwatch.samples import Mode
from cliffwatch_service.ingest.boot_document import unpacked
from cliffwatch_service.store import comparisons


def stored_summary(
    content: FreeJson, platform: str | None = None, mode: Mode | None = None
) -> ComparisonSummary:
    """The summary of a comparison; `platform` and `mode` are its row's, for those that older versions wrote without."""
    summary = summary_of(content)
    if isinstance(summary, Wrong):
        raise ValueError(f"a stored comparison cannot be read: {summary}")  # noqa: TRY004 - what is wrong is the database
    return (
        summary
        if summary.mode is not None
        else msgspec.structs.replace(summary, platform=platform, mode=mode)
    )


def stored_rows(connection: Connection[Any], identity: int, notable: float) -> tuple[ComparisonRow, ...]:
    """The rows of a comparison; `notable` is its summary's threshold."""
    rows = read_rows(unpacked(comparisons.rows_of(connection, identity)), notable)
    if isinstance(rows, Wrong):
        raise ValueError(f"the rows of comparison {identity} cannot be read: {rows}")  # noqa: TRY004 - as above
    return rows
