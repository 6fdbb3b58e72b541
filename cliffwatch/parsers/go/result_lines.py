"""Finds the result lines of the Go benchmark format in a whole text at once.

A result line is a name, a number, and then pairs of value and unit.
"""

from collections.abc import Hashable, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from cliffwatch.parsers.cleaning import Line, is_plain

Numbers = NDArray[np.intp]
T = TypeVar("T", bound=Hashable)

_NAME = np.frombuffer(b"Benchmark", dtype=np.uint8)


class ResultLines(NamedTuple):
    """Result lines of the Go benchmark format, and their values in order."""

    numbers: Numbers
    """(lines,). The line numbers of the result lines, from 0."""
    names: Sequence[str]
    """(lines,)."""
    line_of: Numbers
    """(values,). The index in `numbers` of each value's line."""
    texts: Sequence[str]
    """(values,). The printed values."""
    units: Sequence[str]
    """(values,)."""
    others: Sequence[Line]
    """The lines that are neither results nor blank."""


def result_lines(text: str) -> ResultLines | None:
    """Finds the result lines. None if the text needs cleaning first."""
    if not is_plain(text):
        return None
    data = np.frombuffer(text.encode(), dtype=np.uint8)
    if _has_odd_blanks(data):
        return None
    blank = data <= ord(" ")
    begins = np.flatnonzero(~blank & np.concatenate([[True], blank[:-1]]))
    ends = np.append(np.flatnonzero(data == ord("\n")), len(data))
    words = text.split()
    after = np.searchsorted(begins, ends)
    first = np.concatenate([[0], after[:-1]])
    counts = after - first
    results = np.flatnonzero((counts >= 4) & (counts % 2 == 0))
    results = results[_begin_a_result(data, begins[first[results]])]
    decimal = {word: word.isdecimal() for word in set(_take_words(words, first[results] + 1))}
    if not all(decimal.values()):
        results = results[[decimal[word] for word in _take_words(words, first[results] + 1)]]
    values = (counts[results] - 2) // 2
    line_of = np.repeat(np.arange(len(results)), values)
    within = np.arange(len(line_of)) - np.repeat(np.cumsum(values) - values, values)
    places = first[results][line_of] + 2 + 2 * within
    rest = counts > 0
    rest[results] = False
    starts = np.concatenate([[0], ends[:-1] + 1])
    return ResultLines(
        numbers=results,
        names=_take_words(words, first[results]),
        line_of=line_of,
        texts=_take_words(words, places),
        units=_take_words(words, places + 1),
        others=[
            Line(line + 1, text[starts[line] : ends[line]].rstrip()) for line in np.flatnonzero(rest).tolist()
        ],
    )


def _has_odd_blanks(data: NDArray[np.uint8]) -> bool:
    """True if the text has control characters other than tabs and line ends."""
    return bool(((data < ord(" ")) & (data != ord("\n")) & (data != ord("\t"))).any())


def _begin_a_result(data: NDArray[np.uint8], begins: Numbers) -> NDArray[np.bool_]:
    """True for each word, given by its first byte, that starts with `Benchmark`."""
    padded = np.concatenate([data, np.zeros(len(_NAME), dtype=np.uint8)])
    same = np.ones(len(begins), dtype=bool)
    for place, letter in enumerate(_NAME.tolist()):
        same &= padded[begins + place] == letter
    return same


def _take_words(words: list[str], places: Numbers) -> list[str]:
    """Returns the words at increasing places. Evenly spaced places, as in most files, are the fastest."""
    if len(places) > 1 and (np.diff(places) == places[1] - places[0]).all():
        return words[places[0] : places[-1] + 1 : places[1] - places[0]]
    return list(map(words.__getitem__, places.tolist()))


def number_distinct(things: Sequence[T]) -> tuple[list[T], Numbers]:
    """Returns the distinct things in their order, and the index of each thing in them."""
    different = list(dict.fromkeys(things))
    if len(different) == 1:
        return different, np.zeros(len(things), dtype=np.intp)
    number_of = {thing: number for number, thing in enumerate(different)}
    return different, np.fromiter(map(number_of.__getitem__, things), dtype=np.intp, count=len(things))
