"""Rejoins result lines of the Go format that mail wrapped, or that a benchmark's own output split."""

import re
from collections.abc import Iterable, Iterator, Sequence

from cliffwatch.parsers.cleaning import Line

_NAME = re.compile(r"Benchmark[^\sa-z]\S*")
_PIECE = re.compile(r"\s*(?:-?[\d.]|Benchmark[^\sa-z]\S*\s+\S)")
_NUMBER = re.compile(r"-?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
_ENDS = re.compile(r"(?:PASS|FAIL|ok|goos:|pkg:)(?:\s|$)")


def is_piece_of_result(text: str) -> bool:
    """True if a line that is not a result may be a piece of one."""
    return _PIECE.match(text) is not None


def join_wrapped_results(lines: Iterable[Line]) -> Iterator[Line]:
    """Yields the lines, with the pieces of each result joined."""
    waiting: list[Line] = []
    for line in lines:
        words = line.text.split()
        joined = _join_result(waiting, words)
        if joined is not None:
            waiting = [joined]
        elif words and _NAME.fullmatch(words[0]):
            yield from waiting
            waiting = [line]
        elif waiting and words and not _ENDS.match(line.text) and not _is_result(waiting[0].text.split()):
            waiting.append(line)
        else:
            yield from waiting
            yield line
            waiting = []
    yield from waiting


def _join_result(waiting: Sequence[Line], words: Sequence[str]) -> Line | None:
    """Appends words to a waiting benchmark line. None if they do not belong to it."""
    if not waiting or not words or _NAME.fullmatch(words[0]):
        return None
    first = waiting[0]
    begun = first.text.split()
    if _is_result(begun):
        fits = len(waiting) == 1 and _are_values(words)
    elif len(begun) > 1 and begun[1].isdecimal():
        fits = len(waiting) == 1 and _is_result([*begun, *words])
    else:
        # The benchmark's own output stands between its name and its numbers.
        begun = begun[:1]
        fits = _is_result([*begun, *words])
    return Line(first.number, " ".join([*begun, *words])) if fits else None


def _is_result(words: Sequence[str]) -> bool:
    return len(words) >= 4 and words[1].isdecimal() and _are_values(words[2:])


def _are_values(words: Sequence[str]) -> bool:
    """True if numbers and units alternate."""
    return len(words) % 2 == 0 and all(
        _NUMBER.fullmatch(number) and not _NUMBER.fullmatch(unit)
        for number, unit in zip(words[::2], words[1::2], strict=True)
    )
