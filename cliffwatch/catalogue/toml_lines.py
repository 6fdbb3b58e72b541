"""Finds the line of a key in a TOML text. tomllib does not give lines.

Supports the forms that suites use: `[table]`, `[[array.of.tables]]`, `key = …` with bare or quoted keys. A
key inside an inline table has the line where that table begins.
"""

import re
from collections.abc import Sequence
from functools import lru_cache

from cliffwatch.parsers.readings import Problem

_TABLE = re.compile(r"\s*+\[(?P<array>\[)?+(?P<path>[^\]]++)\]")
_KEY = re.compile(r"\s*+(?P<key>\"[^\"]++\"|'[^']++'|[A-Za-z0-9_.-]++)\s*+=")

Place = tuple[str | int, ...]
"""The path to a key: ("benchmark", 2, "icount", "assume")."""


def problem_at_key(place: Place, reason: str) -> Problem:
    """Creates a problem of a key. `line_of` finds the line of its member."""
    return Problem(member=_member(place), reason=reason)


def _member(place: Place) -> str:
    return ".".join(map(str, place))


def line_of(text: str, member: str) -> int:
    """The line, from 1, of a key such as `benchmark.2.icount.assume`.

    If the key has no line, that of its nearest parent. Names are tables or keys. Numbers are indexes into the
    array of tables before them.
    """
    numbers = _line_numbers(text)
    wanted = member
    while wanted:
        if wanted in numbers:
            return numbers[wanted]
        wanted = wanted.rpartition(".")[0]
    return 1


@lru_cache(maxsize=1)
def _line_numbers(text: str) -> dict[str, int]:
    """Line of each key. Cached for further faults of the same file, of which there may be thousands."""
    numbers: dict[str, int] = {}
    counts: dict[Place, int] = {}
    table: Place = ()
    for number, line in enumerate(text.splitlines(), start=1):
        heading = _TABLE.match(line)
        if heading:
            table = _table(heading["path"].split("."), bool(heading["array"]), counts)
            numbers.setdefault(_member(table), number)
            continue
        key = _KEY.match(line)
        if key:
            numbers.setdefault(_member((*table, key["key"].strip("\"'"))), number)
    return numbers


def _table(names: Sequence[str], is_array: bool, counts: dict[Place, int]) -> Place:
    """The path of a heading, with an index for each array of tables on the way."""
    path: Place = ()
    for depth, name in enumerate(names):
        path = (*path, name.strip().strip("\"'"))
        if depth == len(names) - 1 and is_array:
            counts[path] = counts.get(path, -1) + 1
        if path in counts:
            path = (*path, counts[path])
    return path
