"""Shortens a code.json that is larger than a service stores."""

from bisect import bisect_right
from typing import TypeVar

from msgspec.structs import replace

from cliffwatch.formats.code.differences import MOST_LINES, CodeDifference, CodeRecord, ProgramDifference
from cliffwatch.formats.reading import document_text

LARGEST_BYTES = 4 << 20
"""Limit of a stored code.json. A patch to a few functions takes some kilobytes, to a common header some
hundred, three releases 2 to 13 MiB.
"""

D = TypeVar("D", CodeDifference, ProgramDifference)


def shorten_code(record: CodeRecord, largest: int = LARGEST_BYTES) -> tuple[CodeRecord, str]:
    """Returns the record with at most `largest` bytes as a document, and what it lacks; empty if nothing.

    First it loses `steps`, which no page of a service shows. Then each function and program keeps its first
    lines, and counts the others in `more`. Names, sizes and digests stay, so a record of very many arms may
    remain too large.
    """
    if len(document_text(record)) <= largest:
        return record, ""
    lacks = ["the comparison of each release with the one before"] if record.steps else []
    sizes = range(MOST_LINES + 1)
    most = bisect_right(sizes, largest, key=lambda lines: len(document_text(_shorten(record, lines)))) - 1
    if most < MOST_LINES:
        lacks.append(f"all but {max(0, most)} lines of each function and program")
    return _shorten(record, max(0, most)), " and ".join(lacks)


def _shorten(record: CodeRecord, most: int) -> CodeRecord:
    arms = [
        replace(
            arm,
            functions=tuple(_cut(each, most) for each in arm.functions),
            programs=tuple(_cut(each, most) for each in arm.programs),
        )
        for arm in record.arms
    ]
    return replace(record, arms=tuple(arms), steps=())


def _cut(difference: D, most: int) -> D:
    dropped = len(difference.lines) - most
    if dropped <= 0:
        return difference
    return replace(difference, lines=difference.lines[:most], more=difference.more + dropped)
