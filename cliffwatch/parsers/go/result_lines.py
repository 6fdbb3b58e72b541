"""Finds the result lines of the Go benchmark format in a whole text at once: a name, a number, and then
values with a unit each.
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
    """(lines,): line numbers."""
    names: Sequence[str]
    """(lines,)"""
    line_of: Numbers
    """(values,): index of each value's line."""
    texts: Sequence[str]
    """(values,)"""
    units: Sequence[str]
    """(values,)"""
    others: Sequence[Line]
    """Lines that are neither results nor blank."""


def result_lines(text: str) -> ResultLines | None:
    """None of a text that has to be cleaned first."""
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
    """Whether anything but blanks, tabs and line ends stands between words."""
    return bool(((data < ord(" ")) & (data != ord("\n")) & (data != ord("\t"))).any())


def _begin_a_result(data: NDArray[np.uint8], begins: Numbers) -> NDArray[np.bool_]:
    """Whether the words that begin there begin as the names of results do."""
    padded = np.concatenate([data, np.zeros(len(_NAME), dtype=np.uint8)])
    same = np.ones(len(begins), dtype=bool)
    for place, letter in enumerate(_NAME.tolist()):
        same &= padded[begins + place] == letter
    return same


def _take_words(words: list[str], places: Numbers) -> list[str]:
    """The words at these places, which rise; quickest where they are as far from each other all the way, as
    in most files.
    """
    if len(places) > 1 and (np.diff(places) == places[1] - places[0]).all():
        return words[places[0] : places[-1] + 1 : places[1] - places[0]]
    return list(map(words.__getitem__, places.tolist()))


def number_distinct(things: Sequence[T]) -> tuple[list[T], Numbers]:
    """The different ones in the order in which they come, and which of them each is."""
    different = list(dict.fromkeys(things))
    if len(different) == 1:
        return different, np.zeros(len(things), dtype=np.intp)
    number_of = {thing: number for number, thing in enumerate(different)}
    return different, np.fromiter(map(number_of.__getitem__, things), dtype=np.intp, count=len(things))
